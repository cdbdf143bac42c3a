"""The second core table: decisions in order, with the probabilities that every proposal had."""

from takeup.log.files import read_log as read_log
from takeup.log.table import SOURCES as SOURCES
from takeup.log.table import Log as Log
