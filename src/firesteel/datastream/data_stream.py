"""Streams and what can be made of them (PyFlink: ``pyflink.datastream.data_stream``)."""

from __future__ import annotations

from firesteel.datastream._broadcast_stream import BroadcastConnectedStream, BroadcastStream
from firesteel.datastream._cached_stream import CachedDataStream
from firesteel.datastream._collect import CloseableIterator
from firesteel.datastream._connected_streams import ConnectedStreams
from firesteel.datastream._data_stream import DataStream
from firesteel.datastream._interval_join import IntervalJoin, IntervalJoined
from firesteel.datastream._joined_streams import CoGroupedStreams, JoinedStreams
from firesteel.datastream._keyed_stream import KeyedStream
from firesteel.datastream._salted_stream import SaltedStream, SaltedWindowedStream
from firesteel.datastream._sink_stream import DataStreamSink
from firesteel.datastream._windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "CoGroupedStreams",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "IntervalJoin",
    "IntervalJoined",
    "JoinedStreams",
    "KeyedStream",
    "SaltedStream",
    "SaltedWindowedStream",
    "WindowedStream",
]
