"""Sources one after the other (PyFlink: ``pyflink.datastream.connectors.hybrid_source``)."""

from __future__ import annotations

from firesteel.connectors.hybrid.builders import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
