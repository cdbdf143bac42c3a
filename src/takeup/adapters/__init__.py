"""takeup in the words of other tools; each module stands alone, and those that need another package say which.

`mabwiser` and `obp` need nothing more; `gymnasium`, `openfeature`, `arviz` and, for its server, `redcap` do.
"""
