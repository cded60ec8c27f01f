"""ORC files (PyFlink: ``pyflink.datastream.formats.orc``)."""

from __future__ import annotations

from firesteel.connectors.files.columnar_formats import OrcBulkWriters, OrcColumnarRowInputFormat

__all__ = ["OrcBulkWriters", "OrcColumnarRowInputFormat"]
