"""Every setter of the public surface has an effect, says that it has none, or is refused.

The setters are found by looking (``setters.py``), so that a new one has to be entered in the tables: with
how its object is made (``setter_cases.py``) and what it is called with (``setter_arguments.py``). Whether it
has an effect is told from what the engine is given, with the call and without it: it must differ, and in
something that the product's code reads.
"""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from firesteel.common import Configuration, RestartStrategies
from firesteel.common.errors import FiresteelError
from firesteel.common.options.checks import NO_EFFECT, Verdict, examine, notices as key_notices
from firesteel.datastream import (
    CheckpointStorage,
    EmbeddedRocksDBStateBackend,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
    StateBackend,
    StreamExecutionEnvironment,
)
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.validation import notices
from tests.setter_arguments import ANOTHER, BEFORE, INSTEAD, OWN, SHARED
from tests.setter_cases import SUBJECTS
from tests.setters import differences, fields_nobody_reads, public_classes, setters_of

PUBLIC = set(public_classes())
CLASSES = {cls.__qualname__: cls for cls in PUBLIC}
#: Classes whose methods look like setters.
NOT_SETTINGS = {
    "ConnectedStreams": "its methods add operators",
    "ConfigOptions.OptionBuilder": "its methods are steps to a ConfigOption, each to another class",
    "ConfigOptions.TypedConfigOptionBuilder": "its methods make the ConfigOption",
    "CompletableFuture": "a result, not a setting",
    "StateFuture": "its methods are steps of a computation",
    "Row": "a record",
    "Columns": "records",
    "TimeWindow": "a value",
    "TimerService": "timers are state",
    "Trigger.TriggerContext": "timers are state",
    "ContinuousEventTimeTrigger": "timers are state",
    "ContinuousProcessingTimeTrigger": "timers are state",
    "SinkWrapper": "sink_for() gives what it has",
    "JdbcSink": "sink_for() gives what it has",
    # Of tables, whose programs are plans: their methods are looked at by the programs of tests/sql.
    **dict.fromkeys(("DataType", "RowType", "TableSchema", "TableSchema.Builder"), "values: types of data"),
    **dict.fromkeys(
        ("Column", "ComputedColumn", "MetadataColumn", "PhysicalColumn"),
        "values: columns of a resolved schema",
    ),
    **dict.fromkeys(
        (
            *("CatalogBaseTable", "CatalogColumnStatistics", "CatalogDatabase", "CatalogFunction"),
            *("CatalogModel", "CatalogPartition", "CatalogTableStatistics"),
        ),
        "values: what catalogs hold",
    ),
    **dict.fromkeys(
        ("Expression", "Table", "OverWindowPartitionedOrderedPreceding"), "their methods make plans"
    ),
    **dict.fromkeys(
        ("StatementSet", "TableEnvironment", "StreamTableEnvironment"), "their methods run statements"
    ),
    **dict.fromkeys(
        (
            *("Schema", "Schema.Builder", "Rowtime", "TableDescriptor.Builder", "FormatDescriptor.Builder"),
            *("ModelDescriptor.Builder", "EnvironmentSettings.Builder", "TableConfig"),
        ),
        "what they describe is read by planners, not by streams",
    ),
}
#: Methods of other classes that look like setters.
OPERATORS = {
    *(
        "assign_timestamps_and_watermarks",
        "filter",
        "flat_map",
        "forward",
        "get_side_output",
        "global_",
        "map",
    ),
    *(
        "partition_custom",
        "process",
        "project",
        "rebalance",
        "rescale",
        "shuffle",
        "transform",
        "union",
        "key_by",
        "cache",
    ),
    *("add_source", "add_sink"),
}
WHY_OPERATORS = {"DataStream", "KeyedStream", "CachedDataStream", "StreamExecutionEnvironment"}
_OF_AN_OPERATOR = (
    *("disable_chaining", "force_non_parallel", "name", "set_buffer_timeout", "set_description"),
    *(
        "set_max_parallelism",
        "set_parallelism",
        "set_uid_hash",
        "slot_sharing_group",
        "start_new_chain",
        "uid",
    ),
)
#: What is set is so in any case: PyFlink's programs may say it, and there is no other way.
ALWAYS_SO = {
    "ExecutionConfig.disable_force_avro": "records are never serialized by Avro for POJOs",
    "ExecutionConfig.disable_force_kryo": "records are never serialized by Kryo",
    "ExecutionConfig.enable_generic_types": "streams without a declared type can always be used",
    "IntervalJoin.in_event_time": "processing time is refused",
    "FileSink.BaseBuilder.disable_compact": "compaction is refused",
    "StateTtlConfig.Builder.set_ttl_time_characteristic": "Flink has no other time either",
    "StateTtlConfig.Builder.use_processing_time": "Flink has no other time either",
    "FileSourceBuilder.set_split_assigner": "there is one assigner",
    "PulsarSourceBuilder.set_range_generator": "ranges of keys are refused when they are made",
}
#: What cannot be done, and the settings of streams that are no operator: the rest must not be an error.
REFUSED = {
    *(f"{cls}.{name}" for cls in ("KeyedStream", "CachedDataStream") for name in _OF_AN_OPERATOR),
    *(f"StreamExecutionEnvironment.add_{what}" for what in ("jars", "classpaths")),
    *(
        f"ExecutionConfig.{name}"
        for name in ("enable_force_avro", "enable_force_kryo", "disable_generic_types")
    ),
    *(f"PulsarSinkBuilder.{name}" for name in ("set_config", "set_properties", "set_topic_router")),
    *("PulsarSinkBuilder.set_authentication", "PulsarSourceBuilder.set_authentication"),
    "CsvSchemaBuilder.set_any_property_name",
    "EmbeddedRocksDBStateBackend.set_options",
    "FileSink.BaseBuilder.enable_compact",
    "FileSink.BulkFormatBuilder.with_rolling_policy",
    "StreamingFileSink.DefaultBulkFormatBuilder.with_rolling_policy",
    "FlinkKafkaProducer.set_log_failures_only",
    "RMQConnectionConfig.Builder.set_topology_recovery_enabled",
}


def every_setter() -> list[tuple[str, str]]:
    return [
        (cls.__qualname__, name)
        for cls in public_classes()  # in their order, which all test processes share
        if cls.__qualname__ not in NOT_SETTINGS
        for name in setters_of(cls, PUBLIC)
        if not (name in OPERATORS and cls.__qualname__ in WHY_OPERATORS)
    ]


@contextmanager
def told(said: list[str]) -> Iterator[None]:
    """Collect what is said of settings without effect, by a warning or in the log."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    handler = Handler(logging.WARNING)
    root = logging.getLogger("firesteel")
    root.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        root.removeHandler(handler)
        said += [str(warning.message) for warning in caught]


def outcome(cls: str, name: str) -> str:
    """What a call changes of an object that is without it."""
    setter = f"{cls}.{name}"
    make = BEFORE.get(setter, SUBJECTS[cls].make)
    return changed_by(cls, name, make, arguments_of(cls, name))


def arguments_of(cls: str, name: str) -> tuple[Any, ...]:
    return OWN.get(f"{cls}.{name}") or SHARED.get(name, ())


def changed_by(cls: str, name: str, make: Callable[[], Any], arguments: tuple[Any, ...]) -> str:
    """What a call changes, compared with what *make* makes."""
    given = SUBJECTS[cls].given
    lacking = INSTEAD.get(f"{cls}.{name}") or BEFORE.get(f"{cls}.{name}") or SUBJECTS[cls].make
    said: list[str] = []
    with told([]):
        before = given(make())
        again = given(make())
    noise = differences(before, again)  # ids, and functions that are made for it
    with told(said):
        try:
            after = given(call(lacking(), name, arguments))
        except FiresteelError:
            return "error"
    said += sorted(set(_notices(after)) ^ set(_notices(before)))
    if any(NO_EFFECT in text for text in said):
        return "warning"
    changed = differences(before, after) - noise
    if _settings(before) != _settings(after):
        keys = _settings(before).items() ^ _settings(after).items()
        return "effect" if all(examine(key).verdict is Verdict.EFFECT for key, _ in keys) else "nothing"
    return "effect" if changed and not fields_nobody_reads(changed - {""}) else f"nothing {sorted(changed)}"


def call(made: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    """What has the setting after the call: the object, or the one that it returns."""
    returned = getattr(made, name)(*arguments)
    return returned if isinstance(returned, type(made)) else made


def _settings(given: Any) -> dict[str, str]:
    if isinstance(given, tuple) and given and isinstance(given[0], Configuration):
        given = given[0]
    return given.to_dict() if isinstance(given, Configuration) else {}


def _notices(given: Any) -> list[str]:
    if isinstance(given, JobGraph):
        return notices(Configuration(), given)
    return key_notices(Configuration.from_dict(_settings(given)))


@pytest.mark.parametrize(("cls", "name"), every_setter())
def test_a_setter_has_an_effect_or_says_that_it_has_none(cls: str, name: str) -> None:
    found, setter = outcome(cls, name), f"{cls}.{name}"
    if setter in ALWAYS_SO:
        assert found.startswith("nothing"), "it has an effect: take it from the list"
    elif setter in REFUSED:
        assert found == "error", "it is not refused: take it from the list"
    else:
        assert found in ("effect", "warning")


def several_parameters() -> list[tuple[str, str, int]]:
    """Setters with several parameters that are not a name and its value, with the number of one of them."""
    found = []
    for cls, name in every_setter():
        parameters = list(inspect.signature(getattr(CLASSES[cls], name)).parameters)[1:]
        pair = len(parameters) == 2 and parameters[0] in ("key", "option", "column_name")
        if len(parameters) > 1 and not pair and f"{cls}.{name}" not in REFUSED and cls != "Configuration":
            found += [(cls, name, number) for number in range(len(parameters))]
    return found


@pytest.mark.parametrize(("cls", "name", "number"), several_parameters())
def test_each_parameter_of_a_setter_has_an_effect_or_is_told_of(cls: str, name: str, number: int) -> None:
    parameters = list(inspect.signature(getattr(CLASSES[cls], name)).parameters.values())[1:]
    usual = arguments_of(cls, name)
    usual += tuple(parameter.default for parameter in parameters[len(usual) :])
    changed = (*usual[:number], ANOTHER[f"{cls}.{name}"][number], *usual[number + 1 :])
    lacking = INSTEAD.get(f"{cls}.{name}") or BEFORE.get(f"{cls}.{name}") or SUBJECTS[cls].make
    assert changed_by(cls, name, lambda: call(lacking(), name, usual), changed) in ("effect", "warning")


def test_the_lists_name_setters() -> None:
    found = {f"{cls}.{name}" for cls, name in every_setter()}
    assert (ALWAYS_SO.keys() | REFUSED) - found == set()
    classes = {cls.__qualname__ for cls in PUBLIC}
    assert (SUBJECTS.keys() | NOT_SETTINGS.keys() | WHY_OPERATORS) - classes == set()
    assert all(ALWAYS_SO.values())
    assert all(NOT_SETTINGS.values())


def strategies() -> Iterator[tuple[Any, dict[str, Any]]]:
    """What has options of its own and is given to the environment: how it is made, and what with."""
    for name, made in vars(RestartStrategies).items():
        if name.endswith("_restart") and name != "no_restart" and isinstance(made, staticmethod):
            yield getattr(RestartStrategies, name), {}
    yield FileSystemCheckpointStorage, {"checkpoint_path": "file:///c"}
    yield JobManagerCheckpointStorage, {}
    yield EmbeddedRocksDBStateBackend, {}


FIRST = {"max_backoff": 50, "jitter_factor": 0.1}
OTHERS = {
    "initial_backoff": 7,
    "checkpoint_path": "file:///other",
    "enable_incremental_checkpointing": True,
    "jitter_factor": 0.5,
    "backoff_multiplier": 3.0,
}


@pytest.mark.parametrize(
    ("make", "needed", "parameter"),
    [(make, needed, name) for make, needed in strategies() for name in inspect.signature(make).parameters],
)
def test_options_of_what_the_environment_takes(make: Any, needed: dict[str, Any], parameter: str) -> None:
    """Of a restart strategy, a checkpoint storage, a state backend: each is found in the configuration again,
    under a key that has an effect or is told of."""
    parameters = inspect.signature(make).parameters.items()
    arguments = {name: FIRST.get(name, 5) for name, p in parameters if p.default is p.empty} | needed
    said: list[str] = []
    before = _taken(make(**arguments))
    with told(said):
        after = _taken(make(**arguments | {parameter: OTHERS.get(parameter, 7777)}))
    if any(NO_EFFECT in text for text in said + key_notices(after)):
        return
    keys = {key for key, _ in before.to_dict().items() ^ after.to_dict().items()}
    assert keys
    assert all(examine(key).verdict is Verdict.EFFECT for key in keys)


def _taken(what: Any) -> Configuration:
    env = StreamExecutionEnvironment(Configuration())
    if isinstance(what, CheckpointStorage):
        env.set_checkpoint_storage(what)
    elif isinstance(what, StateBackend):
        env.set_state_backend(what)
    else:
        env.set_restart_strategy(what)
    return env.configuration
