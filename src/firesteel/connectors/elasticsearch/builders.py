"""Builders of sinks for Elasticsearch and OpenSearch (PyFlink:
``pyflink.datastream.connectors.elasticsearch``)."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any, Final, Self

from firesteel.common._no_effect import tell_no_effect
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.elasticsearch.cluster import Cluster
from firesteel.connectors.elasticsearch.emitter import MapEmitter
from firesteel.connectors.elasticsearch.settings import (
    BackOff,
    ClusterSettings,
    FlushOptions,
    Host,
    constant_ms,
    exponential_ms,
)
from firesteel.connectors.elasticsearch.sink import ElasticSink
from firesteel.program import sources as base
from firesteel.program.checks import WrongArgumentError, require_int, require_text
from firesteel.program.connector_wrappers import DeliveryGuarantee, SinkWrapper

_WHO: Final = "ElasticsearchSink"


class FlushBackoffType(Enum):
    """How the delay between retries grows while the cluster is busy."""

    CONSTANT = 0
    EXPONENTIAL = 1
    NONE = 2


_WAITS: Final = {FlushBackoffType.CONSTANT: constant_ms, FlushBackoffType.EXPONENTIAL: exponential_ms}


class ElasticsearchEmitter:
    """Writes a record, which is a dict, to an index; created by ``static_index`` or ``dynamic_index``.

    With a key field, the document whose id is the value of that field is updated with the fields of the
    record, or created if it does not exist. This is idempotent. Without a key field, each record is a new
    document with an id chosen by the cluster.
    """

    def __init__(self, emitter: MapEmitter) -> None:
        self._emitter = emitter

    @staticmethod
    def static_index(
        index: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Write all records to one index.

        :param doc_type: for Elasticsearch 6, which requires one; OpenSearch and Elasticsearch 8 do not have
            types.
        """
        return _emitter(index, key_field, doc_type, dynamic=False)

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Write each record to the index named by its field ``index_field``."""
        return _emitter(index_field, key_field, doc_type, dynamic=True)


def _emitter(
    index: str, key_field: str | None, doc_type: str | None, *, dynamic: bool
) -> ElasticsearchEmitter:
    who = "ElasticsearchEmitter"
    require_text(index, "field of the index" if dynamic else "index", who)
    for value, what in ((key_field, "field of the key"), (doc_type, "type of the documents")):
        if value is not None:
            require_text(value, what, who)
    return ElasticsearchEmitter(MapEmitter(index, key_field, doc_type, dynamic))


class ElasticsearchSinkBuilderBase:
    """What both builders share. Requires hosts and an emitter."""

    _needs_type = False

    def __init__(self) -> None:
        self._emitter: MapEmitter | None = None
        self._hosts: tuple[Host, ...] = ()
        self._network: dict[str, Any] = {}
        self._flush = FlushOptions()
        self._back_off = BackOff()

    def get_http_host_class(self) -> Any:
        """A Java class in PyFlink; not available here."""
        raise UnsupportedFeatureError(
            "There is no class HttpHost: no Java takes part.", hint="pass texts to set_hosts()", operator=_WHO
        )

    def set_emitter(self, emitter: ElasticsearchEmitter) -> Self:
        """Set the emitter: ``ElasticsearchEmitter.static_index()`` or ``dynamic_index()``."""
        if not isinstance(emitter, ElasticsearchEmitter):
            raise WrongArgumentError(
                "Not an ElasticsearchEmitter.",
                operator=_WHO,
                detail=f"got {emitter!r}",
                hint="ElasticsearchEmitter.static_index(index, key_field)",
            )
        self._emitter = emitter._emitter
        return self

    def set_hosts(self, hosts: str | list[str]) -> Self:
        """Set one or more nodes of the cluster as ``http://host:port`` or ``https://host:port``; the default
        scheme is ``http``. If a node does not answer, the next one is tried."""
        texts = hosts if isinstance(hosts, list) else [hosts]
        self._hosts = tuple(Host.parse(require_text(text, "host", _WHO)) for text in texts)
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Accepts ``AT_LEAST_ONCE`` and ``NONE``, which has no effect: an epoch ends when everything is
        sent."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise WrongArgumentError(
                "Not a DeliveryGuarantee.", operator=_WHO, detail=f"got {delivery_guarantee!r}"
            )
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise ProgramError(
                "Elasticsearch has no transactions: its sink cannot write exactly once.",
                operator=_WHO,
                hint="AT_LEAST_ONCE, and a key field: each document is there once in the end",
            )
        if delivery_guarantee is DeliveryGuarantee.NONE:
            tell_no_effect("DeliveryGuarantee.NONE", "an epoch ends when all is sent: at least once")
        return self

    def set_bulk_flush_max_actions(self, num_max_actions: int) -> Self:
        """Send a request when it has ``num_max_actions`` records; the default is 1000, and -1 means no
        limit."""
        most = _or_off(num_max_actions, "number of actions of a request", 1)
        self._flush = replace(self._flush, actions=most)
        return self

    def set_bulk_flush_max_size_mb(self, max_size_mb: int) -> Self:
        """Send a request when it has ``max_size_mb`` MB (of 1024 * 1024 bytes); the default is 5, and -1
        means no limit."""
        size = _or_off(max_size_mb, "size of a request in MB", 1)
        self._flush = replace(self._flush, size=None if size is None else size << 20)
        return self

    def set_bulk_flush_interval(self, interval_millis: int) -> Self:
        """Set how long records may wait for their request to fill, in milliseconds. -1, the default, means
        until the end of their epoch; no record waits longer in any case."""
        interval_ms = _or_off(interval_millis, "interval in milliseconds", 0)
        self._flush = replace(self._flush, interval_ms=interval_ms)
        return self

    def set_bulk_flush_backoff_strategy(
        self, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> Self:
        """Retry what a busy cluster rejects (status 429), at most ``max_retries`` times with a delay before
        each retry. By default the job fails, and its restart strategy decides.

        :param delay_millis: the delay before the first retry; with ``CONSTANT`` before each retry.
        """
        wait_ms = _WAITS.get(flush_backoff_type)
        if wait_ms is None:
            raise WrongArgumentError(
                "A back-off is constant or exponential.",
                operator=_WHO,
                detail=f"got {flush_backoff_type!r}",
                hint="FlushBackoffType.CONSTANT or EXPONENTIAL; leave the call out for none",
            )
        retries = require_int(max_retries, "number of retries", 1, None, _WHO)
        delay_ms = require_int(delay_millis, "delay in milliseconds", 0, None, _WHO)
        self._back_off = BackOff(retries, delay_ms, wait_ms)
        return self

    def set_connection_username(self, username: str) -> Self:
        self._network["user"] = require_text(username, "user name", _WHO)
        return self

    def set_connection_password(self, password: str) -> Self:
        self._network["password"] = require_text(password, "password", _WHO)
        return self

    def set_connection_path_prefix(self, prefix: str) -> Self:
        """Set a prefix for the paths of all requests, for use behind a proxy."""
        path = require_text(prefix, "path prefix", _WHO).strip("/")
        self._network["path_prefix"] = f"/{path}" if path else ""
        return self

    def set_connection_request_timeout(self, timeout: int) -> Self:
        """Has no effect, and a warning says so. In Flink it is how long to wait for a pooled connection; here
        each subtask has its own."""
        require_int(timeout, "connection request timeout", 0, None, _WHO)
        tell_no_effect(
            "set_connection_request_timeout", "each subtask has a connection of its own and waits for none"
        )
        return self

    def set_connection_timeout(self, timeout: int) -> Self:
        """Set how long to wait for a connection to a node, in milliseconds; the default is 1000, and 0 means
        no limit."""
        self._network["connect_timeout_ms"] = require_int(timeout, "connection timeout", 0, None, _WHO)
        return self

    def set_socket_timeout(self, timeout: int) -> Self:
        """Set how long to wait for data of a response, in milliseconds; the default is 30,000, and 0 means no
        limit."""
        self._network["socket_timeout_ms"] = require_int(timeout, "socket timeout", 0, None, _WHO)
        return self

    def build(self) -> ElasticsearchSink:
        """Build the sink.

        :raises ProgramError: a setting is missing, or settings contradict each other.
        """
        if self._emitter is None:
            raise ProgramError("An Elasticsearch sink needs an emitter.", operator=_WHO, hint="set_emitter()")
        if self._needs_type and self._emitter.doc_type is None:
            raise ProgramError(
                "Documents of Elasticsearch 6 have a type.",
                operator=_WHO,
                hint="give the emitter a doc_type, or use Elasticsearch7SinkBuilder for a later cluster",
            )
        cluster = Cluster(ClusterSettings(hosts=self._hosts, **self._network))
        return ElasticsearchSink(ElasticSink(cluster, self._emitter, self._flush, self._back_off))


def _or_off(value: int, what: str, minimum: int) -> int | None:
    return None if value == -1 else require_int(value, what, minimum, None, _WHO)


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """For clusters of Elasticsearch 6, whose documents have a type.

    >>> sink = (
    ...     Elasticsearch6SinkBuilder()
    ...     .set_hosts("localhost:9200")
    ...     .set_emitter(ElasticsearchEmitter.static_index("users", "name", "user"))
    ...     .build()
    ... )
    """

    _needs_type = True


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """For clusters of Elasticsearch 7 and later, and of OpenSearch.

    >>> sink = (
    ...     Elasticsearch7SinkBuilder()
    ...     .set_hosts(["http://localhost:9200"])
    ...     .set_emitter(ElasticsearchEmitter.dynamic_index("kind", "name"))
    ...     .set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 8, 50)
    ...     .build()
    ... )
    """


class ElasticsearchSink(SinkWrapper):
    """Writes dicts as documents, at least once; with a key field each document ends up in the index exactly
    once. Created by ``Elasticsearch7SinkBuilder``."""

    def __init__(self, sink: ElasticSink) -> None:
        super().__init__(sink)

    def sink_for(self, type_info: TypeInformation | None) -> base.Sink:
        self._sink.emitter.check_type(type_info)
        return super().sink_for(type_info)
