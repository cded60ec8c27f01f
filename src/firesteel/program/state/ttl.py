"""Time to live of state."""

from __future__ import annotations

from enum import Enum

from firesteel.common._no_effect import tell_no_effect
from firesteel.common.time import Duration, Time
from firesteel.program.checks import WrongArgumentError


class _CleanupStrategies:
    """How what has expired is removed (Flink: ``StateTtlConfig.CleanupStrategies``).

    The strategies are named after Flink's backends. Here what has expired is removed from memory and from
    disk, a bounded piece in each epoch, when any of them is on; without ``disable_cleanup_in_background`` one
    always is. The size of the incremental one says how many cached entries are looked at for each that an
    epoch changes; Flink's other settings have nothing to tune here, and a warning says so.
    """

    class Strategies(Enum):
        FULL_STATE_SCAN_SNAPSHOT = 0
        INCREMENTAL_CLEANUP = 1
        ROCKSDB_COMPACTION_FILTER = 2

    class CleanupStrategy:
        """Base of all strategies."""

    class EmptyCleanupStrategy(CleanupStrategy):
        """A strategy that has no settings."""

    class IncrementalCleanupStrategy(CleanupStrategy):
        """Check ``cleanup_size`` entries at each access, or for every record."""

        def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
            if not isinstance(cleanup_size, int) or cleanup_size <= 0:
                raise WrongArgumentError(
                    "An incremental clean-up must look at one entry at least.", detail=f"got {cleanup_size!r}"
                )
            self._cleanup_size = cleanup_size
            self._run_cleanup_for_every_record = run_cleanup_for_every_record

        def get_cleanup_size(self) -> int:
            return self._cleanup_size

        def run_cleanup_for_every_record(self) -> bool:
            return self._run_cleanup_for_every_record

    class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
        """Drop entries in compactions; old files at the latest after ``periodic_compaction_time``."""

        def __init__(
            self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
        ) -> None:
            self._query_time_after_num_entries = query_time_after_num_entries
            self._periodic_compaction_time = periodic_compaction_time or Duration.of_days(30)

        def get_query_time_after_num_entries(self) -> int:
            return self._query_time_after_num_entries

        def get_periodic_compaction_time(self) -> Duration:
            return self._periodic_compaction_time

    EMPTY_STRATEGY = EmptyCleanupStrategy()

    def __init__(self, strategies: dict[Strategies, CleanupStrategy], is_cleanup_in_background: bool) -> None:
        self._strategies = dict(strategies)
        self._is_cleanup_in_background = is_cleanup_in_background

    def is_cleanup_in_background(self) -> bool:
        return self._is_cleanup_in_background

    def in_full_snapshot(self) -> bool:
        return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        found = self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP)
        if isinstance(found, self.IncrementalCleanupStrategy):
            return found
        return self.IncrementalCleanupStrategy(5, False) if self._is_cleanup_in_background else None

    def get_rocksdb_compact_filter_cleanup_strategy(self) -> RocksdbCompactFilterCleanupStrategy | None:
        found = self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER)
        if isinstance(found, self.RocksdbCompactFilterCleanupStrategy):
            return found
        return self.RocksdbCompactFilterCleanupStrategy(1000) if self._is_cleanup_in_background else None


class StateTtlConfig:
    """When an entry of state expires and whether an expired one may still be seen.

    Follows Flink's ``StateTtlConfig``: time to live is counted in processing time from the last write, or
    from the last access, of the value, the list element or the map entry.
    """

    class UpdateType(Enum):
        """What restarts the time to live of an entry."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an entry that has expired but is still stored may be returned."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """The time that the time to live is counted in."""

        ProcessingTime = 0

    CleanupStrategies = _CleanupStrategies

    def __init__(
        self,
        update_type: UpdateType,
        state_visibility: StateVisibility,
        ttl_time_characteristic: TtlTimeCharacteristic,
        ttl: Time | Duration,
        cleanup_strategies: _CleanupStrategies,
    ) -> None:
        if not isinstance(ttl, (Time, Duration)):
            raise WrongArgumentError(
                "A time to live must be a Time or a Duration.",
                detail=f"got {ttl!r}",
                hint="for example StateTtlConfig.new_builder(Time.hours(1))",
            )
        if _milliseconds(ttl) <= 0:
            raise WrongArgumentError(
                "A time to live must be longer than nothing.", detail=f"got {_milliseconds(ttl)} ms"
            )
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Time | Duration) -> StateTtlConfig.Builder:
        return StateTtlConfig.Builder(ttl)

    @property
    def ttl_ms(self) -> int:
        """The time to live in milliseconds."""
        return _milliseconds(self._ttl)

    def get_update_type(self) -> StateTtlConfig.UpdateType:
        return self._update_type

    def get_state_visibility(self) -> StateTtlConfig.StateVisibility:
        return self._state_visibility

    def get_ttl(self) -> Time | Duration:
        return self._ttl

    def get_ttl_time_characteristic(self) -> StateTtlConfig.TtlTimeCharacteristic:
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> _CleanupStrategies:
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return f"StateTtlConfig({self.ttl_ms} ms, {self._update_type.name}, {self._state_visibility.name})"

    class Builder:
        """Puts a ``StateTtlConfig`` together; without more, entries expire ``ttl`` after the last write."""

        def __init__(self, ttl: Time | Duration) -> None:
            self._ttl = ttl
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._in_background = True
            self._strategies: dict[_CleanupStrategies.Strategies, _CleanupStrategies.CleanupStrategy] = {}

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            self._update_type = StateTtlConfig.UpdateType(update_type)
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(
            self, state_visibility: StateTtlConfig.StateVisibility
        ) -> StateTtlConfig.Builder:
            self._visibility = StateTtlConfig.StateVisibility(state_visibility)
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            self._characteristic = StateTtlConfig.TtlTimeCharacteristic(ttl_time_characteristic)
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            kind = _CleanupStrategies.Strategies.FULL_STATE_SCAN_SNAPSHOT
            self._strategies[kind] = _CleanupStrategies.EMPTY_STRATEGY
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            strategy = _CleanupStrategies.IncrementalCleanupStrategy(
                cleanup_size, run_cleanup_for_every_record
            )
            if run_cleanup_for_every_record:
                tell_no_effect("run_cleanup_for_every_record", "entries are looked at in each epoch")
            self._strategies[_CleanupStrategies.Strategies.INCREMENTAL_CLEANUP] = strategy
            return self

        def cleanup_in_rocksdb_compact_filter(
            self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
        ) -> StateTtlConfig.Builder:
            strategy = _CleanupStrategies.RocksdbCompactFilterCleanupStrategy(
                query_time_after_num_entries, periodic_compaction_time
            )
            tell_no_effect(
                "what tunes the compaction filter",
                "state is not kept in RocksDB; what has expired is removed piece by piece in each epoch",
            )
            self._strategies[_CleanupStrategies.Strategies.ROCKSDB_COMPACTION_FILTER] = strategy
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            self._in_background = False
            return self

        def set_ttl(self, ttl: Time | Duration) -> StateTtlConfig.Builder:
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            return StateTtlConfig(
                self._update_type,
                self._visibility,
                self._characteristic,
                self._ttl,
                _CleanupStrategies(self._strategies, self._in_background),
            )


def _milliseconds(ttl: Time | Duration) -> int:
    return ttl.to_milliseconds() if isinstance(ttl, Time) else ttl.to_millis()
