"""The connectors ``elasticsearch-6``, ``-7`` and ``-8`` (Flink: ``ElasticsearchDynamicSinkFactoryBase``).

They write the same requests, which OpenSearch takes, too; only version 6 has types of documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from firesteel.connectors.elasticsearch.cluster import Cluster
from firesteel.connectors.elasticsearch.settings import (
    BackOff,
    ClusterSettings,
    FlushOptions,
    Host,
    constant_ms,
    exponential_ms,
)
from firesteel.connectors.elasticsearch.sink import ElasticSink
from firesteel.program.transformations import SinkTransformation, Transformation
from firesteel.sql import physical as p
from firesteel.sql.connectors.elasticsearch.documents import NOT_IN_IDS, TableDocuments
from firesteel.sql.connectors.elasticsearch.index_names import INDEX, index_names
from firesteel.sql.connectors.factory import TableConnector, TableContext
from firesteel.sql.connectors.formats.registry import INSERTS, message_format_of
from firesteel.sql.connectors.options import (
    AT_LEAST_ONCE,
    Option,
    TableOptions,
    duration,
    integer,
    memory,
    refused,
    text,
    word,
)
from firesteel.sql.connectors.sinks import kinds_by_key, sink_transformation
from firesteel.sql.session import session_zone
from firesteel.sql.types import RowType
from firesteel.util.exceptions import TableException

__all__ = ["CONNECTORS"]

_STRATEGY: Final = "sink.bulk-flush.backoff.strategy"
_RETRIES: Final = "sink.bulk-flush.backoff.max-retries"
_DELAY: Final = "sink.bulk-flush.backoff.delay"
_SIZE: Final = "sink.bulk-flush.max-size"
_WAITS: Final = {"CONSTANT": constant_ms, "EXPONENTIAL": exponential_ms}
_DEFAULT_RETRIES: Final = 8
_DEFAULT_DELAY_MS: Final = 50


@dataclass(frozen=True, slots=True)
class _Target:
    """What writes a table: by key where it has a primary key."""

    context: TableContext
    deletes_old_rows = True

    def changelog_mode(self, made: frozenset[str]) -> frozenset[str]:
        return kinds_by_key(self.context.schema)

    def attach(self, environment: Any, rows: Transformation, node: p.Sink) -> SinkTransformation:
        parallelism = self.context.options["sink.parallelism"]
        return sink_transformation(environment, rows, node, self.sink(node.row), parallelism)

    def sink(self, row: RowType) -> ElasticSink:
        options = self.context.options
        return ElasticSink(
            Cluster(_cluster(options)), self._documents(row), _flush(options), _back_off(options)
        )

    def _documents(self, row: RowType) -> TableDocuments:
        options, table = self.context.options, self.context.table.name
        format_ = message_format_of(options, "format")
        if format_.kinds != INSERTS:
            raise options.error("format", "its messages are changes, not documents", "'format' = 'json'")
        format_.message_writer(row)
        names = index_names(options, row, session_zone(self.context.configuration))
        key = self.context.schema.primary_key
        doc_type = options.get("document-type")
        if key is None:
            return TableDocuments(names, format_, row, doc_type=doc_type)
        if names.of_time:
            raise options.error(
                INDEX,
                "the index of a row would depend on when it is written, so it could not be changed later",
                "name a column in it, or leave out PRIMARY KEY",
            )
        places = tuple(row.names.index(name) for name in key.columns)
        wrong = [row.names[k] for k in places if isinstance(row.types[k], NOT_IN_IDS)]
        if wrong:
            raise TableException(
                f"The table has a primary key on columns of illegal types: {', '.join(wrong)}.",
                detail=f"table {table}: the id of a document is a text of its key",
                hint="cast the column to STRING",
            )
        delimiter = options["document-id.key-delimiter"]
        return TableDocuments(names, format_, row, places, delimiter, doc_type)


def _cluster(options: TableOptions) -> ClusterSettings:
    username, password = options["username"], options["password"]
    if (username is None) != (password is None):
        raise options.error("username", "'username' and 'password' go together", "give both, or none")
    prefix = "/" + options["connection.path-prefix"].strip("/")
    return ClusterSettings(
        hosts=tuple(Host.parse(host.strip()) for host in options["hosts"].split(";") if host.strip()),
        user=username,
        password=password,
        path_prefix="" if prefix == "/" else prefix,
        connect_timeout_ms=options["connection.timeout"],
        socket_timeout_ms=options["socket.timeout"],
    )


def _flush(options: TableOptions) -> FlushOptions:
    def limit(key: str) -> int | None:
        if options[key] < 0:
            raise options.error(key, "it must not be negative", "'0' is no limit")
        return options[key] or None

    return FlushOptions(limit("sink.bulk-flush.max-actions"), limit(_SIZE), limit("sink.bulk-flush.interval"))


def _back_off(options: TableOptions) -> BackOff:
    strategy = options[_STRATEGY]
    given = [key for key in (_RETRIES, _DELAY) if key in options]
    if strategy == "DISABLED":
        if given:
            raise options.error(given[0], f"'{_STRATEGY}' is 'DISABLED'", "'CONSTANT' or 'EXPONENTIAL'")
        return BackOff()
    retries, delay_ms = options.get(_RETRIES, _DEFAULT_RETRIES), options.get(_DELAY, _DEFAULT_DELAY_MS)
    if retries < 1:
        raise options.error(_RETRIES, "it must be at least 1", f"'{_STRATEGY}' = 'DISABLED'")
    return BackOff(retries, delay_ms, _WAITS[strategy])


_NOT_READ: Final = "the connector writes only"
_OF_VERSION_8: Final = (
    refused(
        "sink.bulk-flush.max-buffered-actions",
        "a subtask holds one request",
        "'sink.bulk-flush.max-actions' says how many rows it has",
    ),
    refused("sink.bulk-flush.max-in-flight-actions", "a request is sent when the one before is answered"),
    refused(
        "ssl.certificate-fingerprint",
        "certificates are checked by the authorities that the machine trusts",
        "have the machine trust the authority of the cluster",
    ),
    refused("max-retries", _NOT_READ),
    refused("lookup.max-retries", _NOT_READ),
    refused("vector-search.num-candidates", _NOT_READ),
)


def _options(version: int) -> tuple[Option, ...]:
    typed = (
        text("document-type", required=True)
        if version == 6
        else refused("document-type", f"Elasticsearch {version} has no types of documents")
    )
    newer = () if version < 8 else _OF_VERSION_8
    return (
        text("hosts", required=True),
        text(INDEX, required=True),
        typed,
        text("document-id.key-delimiter", "_"),
        text("username"),
        text("password"),
        refused(
            "failure-handler",
            "a document that is rejected fails the job",
            f"'{_STRATEGY}' has a busy cluster asked again",
            unless=("fail",),
        ),
        AT_LEAST_ONCE,
        integer("sink.bulk-flush.max-actions", 1000),
        memory(_SIZE, 2 << 20),
        duration("sink.bulk-flush.interval", 1000),
        word(_STRATEGY, ("DISABLED", "CONSTANT", "EXPONENTIAL"), "DISABLED"),
        integer(_RETRIES),
        duration(_DELAY),
        text("connection.path-prefix", ""),
        duration("connection.timeout", 1000),
        duration("socket.timeout", 30_000),
        refused("connection.request-timeout", "a subtask has one connection, for which nothing waits"),
        refused(
            "sink.flush-on-checkpoint",
            "all is sent at the end of each epoch, which a checkpoint is",
            unless=("true",),
        ),
        *newer,
    )


def _target(context: TableContext) -> _Target:
    """Return the sink of a table.

    :raises FiresteelError: an option is wrong, or the format has no form for the columns.
    """
    made = _Target(context)
    made.sink(context.schema.sink_row)
    return made


CONNECTORS: Final = tuple(
    TableConnector(
        name=f"elasticsearch-{version}",
        options=_options(version),
        formats=("format",),
        default_format="json",
        sink=_target,
    )
    for version in (6, 7, 8)
)
