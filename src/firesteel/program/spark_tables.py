"""What a program says of tables that Spark reads and writes (``from_spark``, ``DataStream.write_spark``), and
formats of tables that only Spark reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.program.sources import Boundedness, Source
from firesteel.program.transformations import SourceTransformation, Transformation

if TYPE_CHECKING:
    import pyarrow as pa

#: Formats of lakes by the names that Spark, and Flink's catalogs and connectors, have for them: the package,
#: without its version, that a session of Spark needs.
PACKAGES: Final[Mapping[str, str]] = {
    "delta": "io.delta:delta-spark_2.13",
    "hudi": "org.apache.hudi:hudi-spark4.0-bundle_2.13",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13",
    "paimon": "org.apache.paimon:paimon-spark-4.0_2.13",
}


def way_through_spark(name: str) -> str | None:
    """Say how tables of a format or a catalog called *name* are read, as a hint; None: it is unknown."""
    if name == "hive":
        return "tables of Hive are read through Spark, by a session with enableHiveSupport(): " + _READ
    package = PACKAGES.get(name)
    if package is None:
        return None
    return f"its tables are read through Spark, by a session with the package {package}: {_READ}"


_READ: Final = "t_env.from_spark(spark.table(...)), or a catalog of 'type' = 'spark'; see docs/systems.md"


def spark_name(*parts: str) -> str:
    """A name of several parts, each in Spark's quotes."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


class SparkTables(Protocol):
    """What a session of Spark knows by name: tables and views of its catalogs."""

    def databases(self, catalog: str) -> list[str]:
        """The names of its databases, as Spark orders them."""

    def tables(self, catalog: str, database: str) -> list[str]:
        """The names of its tables and views, without temporary ones, in order."""

    def schema(self, name: str) -> pa.Schema | None:
        """The columns of a table; None: there is none. ``name``: as in Spark's SQL."""

    def frame(self, name: str, columns: Sequence[str], condition: str) -> Any:
        """Some columns of the rows for which a condition in Spark's SQL holds; empty: of all rows."""


@dataclass(frozen=True, slots=True)
class StagedFrame:
    """The rows of a DataFrame, which Spark has written as Parquet files once.

    :ivar source: reads them as Rows.
    :ivar directory: where the files are.
    :ivar schema: the columns, as Arrow's schema.
    """

    source: Source
    directory: str
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class SparkTarget:
    """Where ``ds.write_spark()`` writes to. ``format``: a data source of Spark, or a function that is called
    with each batch."""

    format: str | Callable[[Any, SparkBatch], Any]
    path: str | None = None
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    at_least_once: bool = False


@dataclass(frozen=True, slots=True)
class SparkBatch:
    """Some records that become visible together. ``app`` and ``version`` name them for all time: ``version``
    rises by one from batch to batch of one ``app``, which is a run of a job. ``recovered``: the job goes on
    from a checkpoint, so the batch may have been written before."""

    app: str
    version: int
    recovered: bool = False

    @property
    def id(self) -> str:
        return f"{self.app}-{self.version}"


def refuse_unbounded(stream: Transformation) -> None:
    """:raises UnsupportedFeatureError: it has records of a source that is unbounded."""
    pending = [stream]
    while pending:
        t = pending.pop()
        pending += t.inputs
        if isinstance(t, SourceTransformation) and _unbounded(t.source):
            raise UnsupportedFeatureError(
                "to_spark needs bounded sources", operator=t.name, hint="write the records with a sink"
            )


def _unbounded(source: Source) -> bool:
    return source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
