"""Descriptors, time to live, side output tags, slot sharing groups, backends: plain data and its checks."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from firesteel.common import Configuration, Duration, Time
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    AggregateFunction,
    CustomCheckpointStorage,
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
    KeyedProcessFunction,
    MemorySize,
    OutputTag,
    PredefinedOptions,
    ReduceFunction,
    SlotSharingGroup,
)
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


class Counting(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def test_descriptors_hold_name_and_type() -> None:
    assert ValueStateDescriptor("v", Types.INT()).type_info == Types.INT()
    assert ListStateDescriptor("l", Types.INT()).type_info == Types.LIST(Types.INT())
    assert MapStateDescriptor("m", Types.INT(), Types.STRING()).type_info == Types.MAP(
        Types.INT(), Types.STRING()
    )
    assert ReducingStateDescriptor("r", max, Types.INT()).get_reduce_function().reduce(1, 2) == 2
    counting = Counting()
    assert AggregatingStateDescriptor("a", counting, Types.INT()).get_agg_function() is counting
    assert ValueStateDescriptor("v", Types.INT()).get_name() == "v"


@pytest.mark.parametrize(
    "make",
    [
        lambda: ValueStateDescriptor("", Types.INT()),
        lambda: ValueStateDescriptor("v", Types.INT),
        lambda: ValueStateDescriptor("v", int),
        lambda: MapStateDescriptor("m", Types.INT(), None),
        lambda: ReducingStateDescriptor("r", 3, Types.INT()),
        lambda: ReducingStateDescriptor("r", ReduceFunction, Types.INT()),
        lambda: AggregatingStateDescriptor("a", max, Types.INT()),
        lambda: ValueStateDescriptor("v", Types.INT()).enable_time_to_live(Time.seconds(1)),
        lambda: StateTtlConfig.new_builder(5).build(),
        lambda: StateTtlConfig.new_builder(Time.seconds(0)).build(),
        lambda: OutputTag(""),
        lambda: OutputTag("late", "INT"),
    ],
)
def test_wrong_descriptors_are_refused(make: Any) -> None:
    with pytest.raises(TypeError):
        make()


def test_what_folds_into_a_state_cannot_be_a_rich_function() -> None:
    class OpenedReduce(ReduceFunction):
        def open(self, runtime_context: Any) -> None: ...

        def reduce(self, value1: Any, value2: Any) -> Any: ...

    class ClosedAggregate(Counting):
        def close(self) -> None: ...

    with pytest.raises(UnsupportedFeatureError, match=r"OpenedReduce\.open\(\) would never be called"):
        ReducingStateDescriptor("r", OpenedReduce(), Types.INT())
    with pytest.raises(UnsupportedFeatureError, match=r"ClosedAggregate\.close\(\) would never be called"):
        AggregatingStateDescriptor("a", ClosedAggregate(), Types.INT())


def test_time_to_live() -> None:
    config = StateTtlConfig.new_builder(Time.seconds(2)).build()
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert (config.ttl_ms, config.get_ttl(), config.is_enabled()) == (2000, Time.seconds(2), True)
    other = (
        StateTtlConfig.new_builder(Time.seconds(2))
        .set_ttl(Duration.of_minutes(1))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .build()
    )
    assert other.ttl_ms == 60_000
    assert other.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert other.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    descriptor = ValueStateDescriptor("v", Types.INT())
    assert descriptor.ttl_config is None
    descriptor.enable_time_to_live(config)
    assert descriptor.ttl_config is config
    copy = pickle.loads(pickle.dumps(descriptor))
    assert copy.ttl_config.ttl_ms == 2000
    disabled = StateTtlConfig.new_builder(Time.seconds(1)).set_update_type(StateTtlConfig.UpdateType.Disabled)
    descriptor.enable_time_to_live(disabled.build())
    assert descriptor.ttl_config is None


def test_cleanup_strategies() -> None:
    builder = StateTtlConfig.new_builder(Time.seconds(1))
    defaults = builder.build().get_cleanup_strategies()
    assert defaults.is_cleanup_in_background()
    assert not defaults.in_full_snapshot()
    assert defaults.get_incremental_cleanup_strategy().get_cleanup_size() == 5
    assert not defaults.get_incremental_cleanup_strategy().run_cleanup_for_every_record()
    assert defaults.get_rocksdb_compact_filter_cleanup_strategy().get_query_time_after_num_entries() == 1000
    off = StateTtlConfig.new_builder(Time.seconds(1)).disable_cleanup_in_background().build()
    assert off.get_cleanup_strategies().get_incremental_cleanup_strategy() is None
    assert off.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy() is None
    builder.cleanup_full_snapshot().cleanup_incrementally(9, True).cleanup_in_rocksdb_compact_filter(8)
    chosen = builder.build().get_cleanup_strategies()
    assert chosen.in_full_snapshot()
    assert chosen.get_incremental_cleanup_strategy().get_cleanup_size() == 9
    rocksdb = chosen.get_rocksdb_compact_filter_cleanup_strategy()
    assert rocksdb.get_query_time_after_num_entries() == 8
    assert rocksdb.get_periodic_compaction_time() == Duration.of_days(30)


def test_output_tags() -> None:
    assert OutputTag("a").type_info is None
    assert OutputTag("a", [Types.INT()]).type_info == Types.ROW([Types.INT()])
    copy = pickle.loads(pickle.dumps(OutputTag("a", Types.INT())))
    assert (copy.tag_id, copy.type_info, copy == OutputTag("a")) == ("a", Types.INT(), True)


def test_slot_sharing_groups() -> None:
    group = (
        SlotSharingGroup.builder("g")
        .set_cpu_cores(2)
        .set_task_heap_memory_mb(100)
        .set_external_resource("gpu", 1)
        .build()
    )
    assert (group.get_name(), group.get_cpu_cores()) == ("g", 2.0)
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(100)
    assert group.get_managed_memory() == MemorySize(0)
    assert group.get_external_resources() == {"gpu": 1.0}
    assert not SlotSharingGroup.builder("g").build().has_resources
    assert SlotSharingGroup.builder("g").build() == SlotSharingGroup("g")
    with pytest.raises(ProgramError, match="needs cores and heap memory"):
        SlotSharingGroup.builder("g").set_cpu_cores(1.0).build()
    with pytest.raises(ProgramError, match="needs cores and heap memory"):
        SlotSharingGroup.builder("g").set_managed_memory_mb(1).build()


def test_memory_sizes() -> None:
    assert str(MemorySize.of_mebi_bytes(1)) == "1 mb"
    assert str(MemorySize(1536)) == "1536 bytes"
    assert str(MemorySize(bytes_size=0)) == "0 bytes"
    size = MemorySize(3 * 2**20 + 5)
    assert (size.get_bytes(), size.get_kibi_bytes(), size.get_mebi_bytes()) == (3 * 2**20 + 5, 3072, 3)
    assert (size.get_gibi_bytes(), size.get_tebi_bytes()) == (0, 0)
    assert MemorySize(1) < MemorySize(2) <= MemorySize(2)


def test_directories_of_local_state_may_be_uris(caplog: pytest.LogCaptureFixture) -> None:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("file:///disk/one/", "file:/disk/a%20b", "/disk//three/")
    paths = ["/disk/one", "/disk/a b", "/disk/three"]
    assert backend.get_db_storage_paths() == paths
    again = EmbeddedRocksDBStateBackend.from_settings(Configuration.from_dict(backend.settings()))
    assert again.get_db_storage_paths() == paths, "the option has colons between its paths"
    assert not caplog.messages
    backend.set_db_storage_paths("file://disk/one")  # Flink passes over the host
    assert backend.get_db_storage_paths() == ["/one"]
    assert "'disk'" in caplog.text
    with pytest.raises(ProgramError, match="on the disk of the host"):
        backend.set_db_storage_paths("s3://bucket/state")


def test_backends_and_storages() -> None:
    backend = EmbeddedRocksDBStateBackend()
    assert backend.get_db_storage_paths() is None
    backend.set_db_storage_paths("/a", "/b")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_number_of_transfer_threads(2)
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert (backend.get_number_of_transfer_threads(), backend.get_options()) == (2, None)
    storage = FileSystemCheckpointStorage("file:///tmp/x/")
    assert storage.get_checkpoint_path() == "file:///tmp/x"
    assert FileSystemCheckpointStorage("file:///").get_checkpoint_path() == "file:///"
    assert storage.get_min_file_size_threshold() == 20480
    assert JobManagerCheckpointStorage().get_max_state_size() == 5 * 2**20
    with pytest.raises(ProgramError, match="no scheme"):
        FileSystemCheckpointStorage("/tmp/x")
    for make in (
        lambda: CustomStateBackend(None),
        lambda: CustomCheckpointStorage(None),
        lambda: backend.set_options("org.example.Options"),
    ):
        with pytest.raises(UnsupportedFeatureError, match="Java"):
            make()


def test_function_classes_are_abstract() -> None:
    with pytest.raises(TypeError):
        KeyedProcessFunction()
    assert issubclass(KeyedProcessFunction.OnTimerContext, KeyedProcessFunction.Context)
