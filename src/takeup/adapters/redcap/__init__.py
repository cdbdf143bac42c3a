"""REDCap in and out: a dictionary and records become a log, and proposals become records again."""

from takeup.adapters.redcap.dictionary import Dictionary, Field
from takeup.adapters.redcap.reading import read, reports_of
from takeup.adapters.redcap.writing import records_of, send, write_csv

__all__ = ["Dictionary", "Field", "read", "records_of", "reports_of", "send", "write_csv"]
