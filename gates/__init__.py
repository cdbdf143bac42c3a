"""Gates: what takeup must get through before anybody relies on it, each with a control that shows the gate can fail.

PYTHONPATH=tests:benchmarks python -m gates [--only NAME] [--scale 0.01] [--seed 1] [--write docs/gates.md]

A module here with a tuple `GATES` is found by itself; a `Gate` says what it shows, how often, and how its protection is
taken away. Results are kept in gates/results as each gate ends, and docs/gates.md is written from whatever is there.
"""
