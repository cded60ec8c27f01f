"""Every place where users' code is called in a task: a small program for each, in which one function slips.

``slip`` stands in the user's code of the place. It counts its calls and raises at the one that a test arms;
unarmed, the programs come to their end, so that a test knows how many calls there are.
"""

from . import functions, inputs, keyed, outside, patterns, sinks, windows
from .core import PLACES, armed

__all__ = ["PLACES", "armed", "functions", "inputs", "keyed", "outside", "patterns", "sinks", "windows"]
