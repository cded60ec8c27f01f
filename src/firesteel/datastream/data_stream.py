"""Streams and what can be made of them (PyFlink: ``pyflink.datastream.data_stream``)."""

from __future__ import annotations

from firesteel.datastream._broadcast_stream import BroadcastConnectedStream, BroadcastStream
from firesteel.datastream._collect import CloseableIterator
from firesteel.datastream._connected_streams import ConnectedStreams
from firesteel.datastream._data_stream import DataStream
from firesteel.datastream._keyed_stream import KeyedStream
from firesteel.datastream._sink_stream import DataStreamSink

__all__ = [
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
]
