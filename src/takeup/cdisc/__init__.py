"""CDISC: a trial as DM, EX and ADSL, which keep planned and actual treatment apart, and such datasets as a log."""

from takeup.cdisc.datasets import datasets_of
from takeup.cdisc.files import write
from takeup.cdisc.reading import log_of_adam
from takeup.cdisc.study import Study
from takeup.cdisc.variables import Dataset, Variable

__all__ = ["Dataset", "Study", "Variable", "datasets_of", "log_of_adam", "write"]
