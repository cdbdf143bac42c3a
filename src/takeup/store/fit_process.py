"""A process that fits the models of a trial's policy to its decisions."""

import sys

from takeup import logs
from takeup.pipes import lower_priority, packed, standard, unpacked
from takeup.store import books, reading
from takeup.store.fit_rows import known_rows
from takeup.store.opening import looking
from takeup.trial.fitting import Refit, due


def fit(url: str, trial: str) -> Refit | None:
    """A fit to all that the database has of a trial; None where none is due any more."""
    with looking(url) as connection:
        book = books.load(connection, reading.head(connection, trial))
        if not due(book):
            return None
        rows = known_rows(connection, book)
    return Refit.of(book, rows)


def main() -> None:
    """Fit what standard input asks for: the URL of a database, and a trial in it."""
    logs.configure(sys.stderr)
    lower_priority()
    tasks, answers = standard()
    answers.write(packed(fit(*unpacked(tasks))))
    answers.flush()


if __name__ == "__main__":
    main()
