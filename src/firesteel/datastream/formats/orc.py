"""ORC files (PyFlink: ``pyflink.datastream.formats.orc``)."""

from __future__ import annotations

from firesteel.datastream.formats._columnar import OrcBulkWriters, OrcColumnarRowInputFormat

__all__ = ["OrcBulkWriters", "OrcColumnarRowInputFormat"]
