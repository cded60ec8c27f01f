"""The source function that reads Kinesis streams, and its options."""

from __future__ import annotations

from typing import Any, Final

from firesteel.common._no_effect import tell_no_effect
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.serialization import DeserializationSchema
from firesteel.common.time import Duration
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.aws.consumer_options import ConsumerOptions, parse_options
from firesteel.connectors.aws.records import KinesisDeserializationSchema
from firesteel.connectors.aws.source import KinesisSource
from firesteel.program.checks import WrongArgumentError, property_value, require_text
from firesteel.program.functions.legacy_connectors import SourceFunction
from firesteel.program.sources import Source

_WHO: Final = "FlinkKinesisConsumer"


class KinesisShardAssigner:
    """How shards are assigned to subtasks. They are always assigned round-robin, so that the numbers of
    shards of two subtasks differ by at most one; the assigner chooses the order."""

    def __init__(self, by_hash: bool) -> None:
        if not isinstance(by_hash, bool):
            raise UnsupportedFeatureError(
                "A shard assigner written in Java cannot be used.",
                detail=f"got {by_hash!r}",
                hint="KinesisShardAssigner.uniform_shard_assigner()",
            )
        self.by_hash = by_hash

    @staticmethod
    def default_shard_assigner() -> KinesisShardAssigner:
        """Assign shards in the order of their ids."""
        return KinesisShardAssigner(by_hash=False)

    @staticmethod
    def uniform_shard_assigner() -> KinesisShardAssigner:
        """Assign shards in the order of their hash keys: neighbours stay spread even after many reshards."""
        return KinesisShardAssigner(by_hash=True)


class WatermarkTracker:
    """Aligns the shards of one or more sources in event time: those that are ahead wait. Equivalent to
    ``WatermarkStrategy.with_watermark_alignment``."""

    def __init__(self, aggregate_name: str) -> None:
        self.aggregate_name = require_text(aggregate_name, "aggregate_name", "WatermarkTracker")

    @staticmethod
    def job_manager_watermark_tracker(
        aggregate_name: str, log_accumulator_interval_millis: int = -1
    ) -> WatermarkTracker:
        """:param aggregate_name: sources of the job with the same name wait for each other.
        :param log_accumulator_interval_millis: has no effect, and a warning says so.
        """
        if log_accumulator_interval_millis != -1:
            tell_no_effect("log_accumulator_interval_millis", "the watermarks are in the metrics")
        return WatermarkTracker(aggregate_name)


class FlinkKinesisConsumer(SourceFunction):
    """Reads Kinesis streams of one region exactly once, for ``add_source``. Unbounded.

    The event time of a record is the time of its arrival in Kinesis, unless a watermark assigner sets
    another.

    :param streams: one or more names.
    :param config_props: Flink's ``aws...`` and ``flink...`` properties, see ``docs/kinesis.md``.
    """

    def __init__(
        self,
        streams: str | list[str],
        deserializer: DeserializationSchema | KinesisDeserializationSchema,
        config_props: dict[str, Any],
    ) -> None:
        names = [streams] if isinstance(streams, str) else list(streams)
        if not names:
            raise ProgramError("A FlinkKinesisConsumer needs a stream.", hint="name one or several")
        if not isinstance(deserializer, DeserializationSchema | KinesisDeserializationSchema):
            raise WrongArgumentError(
                "Not a schema that reads Kinesis records.",
                operator=_WHO,
                detail=f"got {deserializer!r}",
                hint="SimpleStringSchema(), or a class derived from KinesisDeserializationSchema",
            )
        self._streams = tuple(require_text(name, "stream", _WHO) for name in names)
        self._schema = deserializer
        self._properties = {key: property_value(key, value, _WHO) for key, value in config_props.items()}
        self._options: ConsumerOptions = parse_options(self._properties)
        self._assigner = KinesisShardAssigner.default_shard_assigner()
        self._strategy: WatermarkStrategy | None = None
        self._tracker: WatermarkTracker | None = None
        self.produced_type: TypeInformation | None = deserializer.get_produced_type()

    @property
    def source(self) -> Source:  # type: ignore[override]  # of what is set until it is asked for
        """The source that this function wraps."""
        return KinesisSource(self._streams, self._schema, self._properties, self._assigner.by_hash)

    @property
    def watermark_strategy(self) -> WatermarkStrategy | None:  # type: ignore[override]  # as source
        """The assigner, applied per shard, with idleness and alignment from the properties."""
        strategy = self._strategy
        if strategy is None:
            if self._tracker is not None:
                raise ProgramError(
                    "A watermark tracker has nothing to track without watermarks.",
                    operator=_WHO,
                    hint="set_periodic_watermark_assigner(), or leave set_watermark_tracker() out",
                )
            return None
        if self._options.idle_ms is not None:
            strategy = strategy.with_idleness(Duration.of_millis(self._options.idle_ms))
        if self._tracker is not None:
            # As in Flink: the minimum is three synchronisation intervals.
            drift_ms = max(self._options.lookahead_ms, 3 * self._options.sync_ms)
            strategy = strategy.with_watermark_alignment(
                self._tracker.aggregate_name,
                Duration.of_millis(drift_ms),
            )
        return strategy

    def set_shard_assigner(self, shard_assigner: KinesisShardAssigner) -> FlinkKinesisConsumer:
        """Set the order in which shards are assigned to the subtasks."""
        self._assigner = _checked(shard_assigner, KinesisShardAssigner)
        return self

    def set_periodic_watermark_assigner(
        self, periodic_watermark_assigner: WatermarkStrategy
    ) -> FlinkKinesisConsumer:
        """Set timestamps and watermarks per shard. Flink's assigners of this kind are Java classes; here it
        is a WatermarkStrategy."""
        self._strategy = _checked(periodic_watermark_assigner, WatermarkStrategy)
        return self

    def set_watermark_tracker(self, watermark_tracker: WatermarkTracker) -> FlinkKinesisConsumer:
        """Make shards wait that are ahead of the others by more than ``flink.watermark.lookahead.millis``."""
        self._tracker = _checked(watermark_tracker, WatermarkTracker)
        return self


def _checked(given: Any, kind: type) -> Any:
    if not isinstance(given, kind):
        raise WrongArgumentError(f"Not a {kind.__name__}.", operator=_WHO, detail=f"got {given!r}")
    return given
