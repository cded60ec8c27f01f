"""The version of firesteel."""

__version__ = "0.1.0"
