"""docs/gates.md, from the gates that there are and the results that were kept."""

from collections.abc import Mapping

from gates.gate import Gate
from gates.kept import Result, lasting
from gates.known import PARTS

HEAD = """# Gates

What takeup must get through, how often it was tried, and what came of it. `make gates` runs all of it and writes this
page; `make gates ONLY=NAME` runs one gate, and `SCALE=0.01` tries it a hundredth as often. It runs in a copy of the
commit, so `make gates &` goes on beside further work. Each gate has a control: the same without the protection, which
must fail, or the gate would see nothing. A small part of each runs in `make test` or `make long`. What is guaranteed,
and how, is in [reliability.md](reliability.md).

A row is one run, at the commit that it names, with a plus where files had been changed since; the time that it took
includes the control. Where it was tried less often than the full count, the count says so. Bounds of time are for a
machine that does nothing else; the end of the page says what each run's had to do besides.
"""


def page(gates: Mapping[str, Gate], results: Mapping[str, Result]) -> str:
    """The whole page."""
    lines = [HEAD]
    for part in PARTS:
        rows = [_row(gate, results.get(gate.name)) for gate in gates.values() if gate.part == part]
        if rows:
            lines += [f"## {part.capitalize()}", ""]
            lines += ["| gate | what | how often | took | result | commit | seed | control: without | it found |"]
            lines += ["|---|---|---|---|---|---|---|---|---|", *rows, ""]
    machines: dict[str, list[str]] = {}
    for name, result in results.items():
        if name in gates:
            words, _, busy = result.machine.rpartition(", load ")
            machines.setdefault(words, []).append(f"{name} ({result.date}, load {busy})")
    if machines:
        lines += ["## Machines", "", "When, and under which load at the beginning.", ""]
        lines += [f"- {words}: {', '.join(names)}" for words, names in machines.items()]
        lines += [""]
    return "\n".join(lines)


def _row(gate: Gate, result: Result | None) -> str:
    full = f"{gate.times:,} {gate.unit}"
    if result is None:
        cells = [gate.name, gate.shows, full, "", "not run yet", "", "", gate.without, ""]
    else:
        tried = full if result.times == gate.times else f"{result.times:,} of {full}"
        verdict = {True: "held", False: "**failed**", None: "left out"}[result.passed]
        control = ("fails, as it must" if result.control_failed else "**sees nothing**") + f": {result.control}"
        if result.passed is None:
            control = ""
        cells = [gate.name, gate.shows, tried, lasting(result.seconds)]
        cells += [f"{verdict}: {result.figures}", result.commit, str(result.seed)]
        cells += [gate.without, control]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
