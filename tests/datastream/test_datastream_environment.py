"""The environment: settings, sources, running."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, Duration, RestartStrategies, Row, WatermarkStrategy
from firesteel.common.clock import ManualClock
from firesteel.common.errors import (
    ConfigurationError,
    FiresteelError,
    PathNotFoundError,
    ProgramError,
    UnsupportedFeatureError,
)
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    CheckpointingMode,
    EmbeddedRocksDBStateBackend,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    RuntimeExecutionMode,
    SourceFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream._session_defaults import CONF_VARIABLE, set_session_defaults
from firesteel.datastream.connectors import NumberSequenceSource
from firesteel.serializers import PickleSerializer


def new_env(**settings: str) -> StreamExecutionEnvironment:
    options = {key.replace("_", "."): value for key, value in settings.items()}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))


def test_settings_of_the_program_win_over_the_command_line_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "config.yaml"
    conf.write_text("parallelism.default: 2\npipeline.name: of the file\npipeline.max-parallelism: 64\n")
    monkeypatch.setenv(CONF_VARIABLE, str(conf))
    set_session_defaults({"parallelism.default": "3", "pipeline.name": "of the command line"})
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": "4"})
    )
    assert env.get_parallelism() == 4
    assert env.configuration.get_string("pipeline.name", "") == "of the command line"
    assert env.get_max_parallelism() == 64
    assert StreamExecutionEnvironment.get_execution_environment().get_parallelism() == 3


def test_a_configuration_handed_in_is_not_changed() -> None:
    configuration = Configuration()
    StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(9)
    assert configuration.to_dict() == {}


def test_spark_and_clock_may_be_handed_in() -> None:
    clock = ManualClock()
    env = StreamExecutionEnvironment.get_execution_environment(spark="a session", clock=clock)
    assert (env.spark, env.clock) == ("a session", clock)


@pytest.mark.row("S-CKPT-41")
def test_defaults_are_flinks(env: StreamExecutionEnvironment) -> None:
    assert env.get_max_parallelism() == -1
    assert env.get_buffer_timeout() == 100
    assert env.is_chaining_enabled()
    assert env.is_chaining_of_operators_with_different_max_parallelism_enabled()
    assert env.get_checkpoint_interval() == -1
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert env.is_changelog_state_backend_enabled() is None
    assert env.get_default_savepoint_directory() is None
    assert not env.is_unaligned_checkpoints_enabled()
    assert not env.is_force_unaligned_checkpoints()
    assert env.get_state_backend() is None
    config = env.get_checkpoint_config()
    assert config.get_checkpoint_timeout() == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.is_fail_on_checkpointing_errors()
    assert not config.is_externalized_checkpoints_enabled()
    assert config.get_aligned_checkpoint_timeout() == Duration.of_millis(0)


@pytest.mark.parametrize(
    ("master", "cores"), [("local", 1), ("local[3]", 3), ("local[5,4]", 5), ("local-cluster[2,3,1024]", 6)]
)
@pytest.mark.row("S-PERF-10", "S-CFG-19", "S-SLOT-03")
def test_the_default_parallelism_is_that_of_the_local_master(master: str, cores: int) -> None:
    env = new_env(spark_master=master)
    assert env.get_parallelism() == cores
    env.set_default_local_parallelism(7)
    assert env.get_parallelism() == 7
    assert env.set_parallelism(2).get_parallelism() == 2
    assert env.set_parallelism(-1).get_parallelism() == 7


@pytest.mark.parametrize(
    "call",
    [
        lambda e: e.set_parallelism(0),
        lambda e: e.set_max_parallelism(0),
        lambda e: e.set_max_parallelism(32769),
        lambda e: e.set_buffer_timeout(-2),
        lambda e: e.enable_checkpointing(9),
        lambda e: e.get_checkpoint_config().set_max_concurrent_checkpoints(0),
        lambda e: e.get_checkpoint_config().set_checkpoint_timeout(5),
        lambda e: e.get_checkpoint_config().set_min_pause_between_checkpoints(-1),
        lambda e: e.get_checkpoint_config().set_tolerable_checkpoint_failure_number(-1),
        lambda e: e.set_runtime_mode("BATCH"),
        lambda e: e.set_parallelism(True),
        lambda e: e.execute(""),
    ],
)
def test_settings_out_of_bounds_are_refused(env: StreamExecutionEnvironment, call: Any) -> None:
    with pytest.raises(ProgramError):
        call(env)


@pytest.mark.row("S-API-09")
def test_settings_are_read_back_and_lie_under_flinks_keys(env: StreamExecutionEnvironment) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH).set_buffer_timeout(-1).disable_operator_chaining()
    env.enable_checkpointing(5000, CheckpointingMode.AT_LEAST_ONCE)
    env.set_default_savepoint_directory("file:///s").enable_changelog_state_backend(True)
    env.set_state_backend(EmbeddedRocksDBStateBackend(True))
    env.set_checkpoint_storage(FileSystemCheckpointStorage("file:///c"))
    config = env.get_checkpoint_config()
    config.set_checkpoint_timeout(1000).set_min_pause_between_checkpoints(20)
    config.set_fail_on_checkpointing_errors(False).enable_unaligned_checkpoints()
    config.set_force_unaligned_checkpoints().set_alignment_timeout(Duration.of_seconds(3))
    retain = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    config.set_externalized_checkpoint_retention(retain).set_max_concurrent_checkpoints(2)
    assert env.get_runtime_mode() is RuntimeExecutionMode.BATCH
    assert env.get_buffer_timeout() == -1
    assert not env.is_chaining_enabled()
    assert (env.get_checkpoint_interval(), config.get_checkpoint_timeout()) == (5000, 1000)
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert env.get_default_savepoint_directory() == "file:///s"
    assert env.is_changelog_state_backend_enabled() is True
    assert isinstance(env.get_state_backend(), EmbeddedRocksDBStateBackend)
    assert config.get_tolerable_checkpoint_failure_number() == 2**31 - 1
    assert env.is_unaligned_checkpoints_enabled()
    assert env.is_force_unaligned_checkpoints()
    assert config.get_alignment_timeout() == Duration.of_seconds(3)
    assert config.get_externalized_checkpoint_retention() is retain
    options = env.configuration.to_dict()
    assert options["execution.checkpointing.interval"] == "5000 ms"
    assert options["execution.checkpointing.dir"] == "file:///c"
    assert options["state.backend.type"] == "rocksdb"
    assert options["execution.runtime-mode"] == "BATCH"
    env.set_checkpoint_storage(JobManagerCheckpointStorage()).set_state_backend(HashMapStateBackend())
    assert isinstance(env.get_state_backend(), HashMapStateBackend)


def test_options_of_a_configuration_are_seen_by_the_getters(env: StreamExecutionEnvironment) -> None:
    env.configure(
        Configuration.from_dict(
            {
                "execution.runtime-mode": "automatic",
                "execution.checkpointing.interval": "1 min",
                "execution.checkpointing.mode": "exactly-once",
                "execution.buffer-timeout.interval": "30 ms",
            }
        )
    )
    assert env.get_runtime_mode() is RuntimeExecutionMode.AUTOMATIC
    assert env.get_checkpoint_interval() == 60_000
    assert env.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert env.get_buffer_timeout() == 30
    env.configure(Configuration.from_dict({"execution.runtime-mode": "sometimes"}))
    with pytest.raises(ConfigurationError, match=r"execution\.runtime-mode"):
        env.get_runtime_mode()


@pytest.mark.parametrize(
    ("strategy", "name", "option", "value"),
    [
        (RestartStrategies.no_restart(), "none", None, None),
        (RestartStrategies.fixed_delay_restart(3, 500), "fixed-delay", "fixed-delay.delay", "500 ms"),
        (
            RestartStrategies.failure_rate_restart(2, 60_000, 10),
            "failure-rate",
            "failure-rate.max-failures-per-interval",
            "2",
        ),
        (
            RestartStrategies.exponential_delay_restart(1, 1000, 2.0, 5000, 0.1),
            "exponential-delay",
            "exponential-delay.max-backoff",
            "1000 ms",
        ),
    ],
)
def test_restart_strategies_become_options(
    env: StreamExecutionEnvironment, strategy: Any, name: str, option: str | None, value: str | None
) -> None:
    options = env.set_restart_strategy(strategy).configuration.to_dict()
    assert options["restart-strategy.type"] == name
    assert option is None or options[f"restart-strategy.{option}"] == value


@pytest.mark.row("S-API-07")
def test_execute_hands_the_program_over_and_starts_anew(
    env: StreamExecutionEnvironment, executor: Any
) -> None:
    stream = env.from_collection([1])
    stream.map(str).uid("m").print()
    result = env.execute("first")
    assert result.get_net_runtime() == 7
    assert env.transformations == ()
    stream.map(str).uid("m").print()  # the same uid in another job
    env.configure(Configuration.from_dict({"pipeline.name": "second"}))
    env.execute()
    (name1, program1), (name2, program2) = executor.jobs
    assert (name1, name2) == ("first", "second")
    assert [t.name for t in program1] == ["Collection Source", "Map", "Print to Std. Out"]
    assert [t.name for t in program2] == ["Map", "Print to Std. Out"]
    assert program2[0].inputs == (program1[0],)
    assert env.execute_async("third") == "a job client"


@pytest.mark.row("S-API-07", "S-API-08")
def test_nothing_is_called_before_execute(env: StreamExecutionEnvironment, executor: Any) -> None:
    calls: list[Any] = []
    env.from_collection([1, 2]).map(calls.append).print()
    assert calls == []
    assert executor.jobs == []


def test_the_graph_takes_over_the_settings(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(3).set_max_parallelism(12).disable_operator_chaining()
    env.from_collection([1]).map(str).print()
    graph = env.get_stream_graph()
    assert [(n.name, n.parallelism, n.max_parallelism) for n in graph.nodes] == [
        ("Source: Collection Source", 1, 1),
        ("Map", 3, 12),
        ("Sink: Print to Std. Out", 3, 12),
    ]
    assert not graph.config.chaining
    assert env.get_execution_plan() == '{"nodes": 3}'


def test_execute_and_collect(env: StreamExecutionEnvironment, executor: Any) -> None:
    executor.results = [1, 2, 3]
    stream = env.from_collection([1, 2, 3])
    with stream.execute_and_collect("all") as records:
        assert list(records) == [1, 2, 3]
    assert env.transformations == ()
    executor.closed = False
    assert stream.map(str).execute_and_collect(limit=2) == [1, 2]
    assert executor.closed
    assert [name for name, _ in executor.jobs] == ["all", None]
    iterator = stream.map(str).execute_and_collect()
    assert iterator.next() == 1
    iterator.close()
    with pytest.raises(StopIteration):
        iterator.next()
    with pytest.raises(ProgramError, match="limit"):
        stream.execute_and_collect(limit=0)


def test_a_collection_is_taken_as_its_type_has_it(env: StreamExecutionEnvironment) -> None:
    def records(stream: Any) -> Any:
        return stream._transformation.source.records

    assert records(env.from_collection(n for n in (1, 2))) == [1, 2]
    assert records(env.from_collection([1.1], type_info=Types.FLOAT())) == [1.100000023841858]
    typed = env.from_collection(
        [("a", 1)], type_info=Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
    )
    assert records(typed) == [Row(k="a", n=1)]
    assert typed.get_type() == Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
    assert env.from_collection([1]).get_type() == Types.PICKLED_BYTE_ARRAY()
    source = typed._transformation
    assert (source.parallelism, source.max_parallelism) == (1, 1)


@pytest.mark.parametrize(
    ("elements", "type_info"),
    [
        (["a"], Types.INT()),
        ([(1, 2, 3)], Types.TUPLE([Types.INT(), Types.STRING()])),
        ([5], Types.ROW([Types.INT()])),
        (7, None),
    ],
)
def test_elements_that_do_not_fit_are_refused(
    env: StreamExecutionEnvironment, elements: Any, type_info: Any
) -> None:
    with pytest.raises(FiresteelError) as error:
        env.from_collection(elements, type_info)
    assert error.value.operator == "Collection Source"


def test_other_sources(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    numbers = env.from_sequence(1, 9)
    assert (numbers.get_name(), numbers.get_type()) == ("Sequence Source", Types.LONG())
    assert numbers._transformation.parallelism is None
    lines = env.read_text_file(str(tmp_path), "ISO-8859-1")
    assert (lines.get_type(), lines._transformation.source.paths) == (Types.STRING(), (str(tmp_path),))
    socket = env.socket_text_stream("localhost", 9181, ";", 3)._transformation
    assert (socket.source.delimiter, socket.source.max_retries, socket.parallelism) == (";", 3, 1)
    rows = env.from_spark(3)
    assert rows.get_name() == "Spark DataFrame"
    assert lines.to_spark() == ("a frame of", lines._transformation, ["value"])
    with pytest.raises(ProgramError, match="port"):
        env.socket_text_stream("localhost", 0)
    with pytest.raises(ProgramError, match="end of the sequence"):
        env.from_sequence(3, 1)


@pytest.mark.row("S-API-04")
def test_from_source(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    made = env.from_source(NumberSequenceSource(0, 5), strategy, "numbers")._transformation
    assert (made.name, made.output_type) == ("numbers", Types.LONG())
    assert vars(made.watermark_strategy) == vars(strategy)
    declared = env.from_source(NumberSequenceSource(0, 5), strategy, "numbers", Types.INT())
    assert declared.get_type() == Types.INT()
    legacy = env.add_source(SourceFunction(NumberSequenceSource(0, 5)))
    assert legacy.get_name() == "Custom Source"
    with pytest.raises(TypeError, match="takes a source"):
        env.from_source([1], strategy, "numbers")
    with pytest.raises(TypeError, match="WatermarkStrategy"):
        env.from_source(NumberSequenceSource(0, 5), None, "numbers")
    with pytest.raises(UnsupportedFeatureError, match="Java"):
        SourceFunction("org.example.Source")


def test_of_two_modules_of_a_name_the_one_that_is_added_last_counts(
    env: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in PyFlink, whose ``python.files`` begin with the last one, too."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    places = [tmp_path / name for name in ("first", "second")]
    for place in places:
        place.mkdir()
        (place / "module_of_two_places.py").write_text(f"PLACE = {place.name!r}\n")
        env.add_python_file(str(place / "module_of_two_places.py"))
    files = env.configuration.get_string("python.files", "").split(",")
    assert [Path(file).parent for file in files] == places[::-1]
    import module_of_two_places  # type: ignore[import-not-found]

    assert module_of_two_places.PLACE == "second"
    del sys.modules["module_of_two_places"]


def test_relative_paths_are_those_of_the_working_directory_at_the_call(
    env: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyFlink looks them up when the job starts, from where its JVM was started: that is the same, unless the
    program has changed its directory before."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("data.zip", "module.py", "needs.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "wheels").mkdir()
    monkeypatch.chdir(tmp_path)
    env.add_python_archive("data.zip")
    env.add_python_archive("data.zip", "again")
    env.add_python_file("module.py")
    env.set_python_requirements("needs.txt", "wheels")
    monkeypatch.chdir("/")
    said = {key: env.configuration.get_string(f"python.{key}", "") for key in ("archives", "files")}
    assert said == {
        "archives": f"{tmp_path}/data.zip,{tmp_path}/data.zip#again",
        "files": f"{tmp_path}/module.py",
    }
    requirements = env.configuration.get_string("python.requirements", "")
    assert requirements == f"{tmp_path}/needs.txt#{tmp_path}/wheels"
    with pytest.raises(PathNotFoundError, match="looked up from /"):
        env.add_python_archive("data.zip")


def test_files_go_to_the_workers_and_what_cannot_is_refused(
    env: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    module = tmp_path / "helpers.py"
    module.write_text("x = 1")
    env.add_python_file(str(module))
    assert str(tmp_path) in sys.path
    assert env.configuration.get_string("python.files", "") == str(module)
    env.add_python_archive(str(module), "data")
    env.register_cached_file(str(module), "one")
    env.register_cached_file(f"file://{module}", "two", executable=True)
    assert env.configuration.get_string("python.archives", "") == f"{module}#data"
    assert env.configuration.get_string("pipeline.cached-files", "") == (
        f"name:one,path:{module},executable:false;name:two,path:{module},executable:true"
    )
    for name in ("one", "a,b"):
        with pytest.raises(ProgramError, match="cached file"):
            env.register_cached_file(str(module), name)
    env.set_python_requirements(str(module), str(tmp_path))
    assert env.configuration.get_string("python.requirements", "") == f"{module}#{tmp_path}"
    with pytest.raises(PathNotFoundError):
        env.set_python_requirements("requirements.txt")
    env.set_python_executable(sys.executable)
    with pytest.raises(PathNotFoundError):
        env.add_python_file(str(tmp_path / "nothing.py"))
    for call in (
        lambda: env.set_python_executable("/nowhere/python"),
        lambda: env.add_jars("file:///a.jar"),
        lambda: env.add_classpaths("file:///a.jar"),
        lambda: env.create_input(None),
    ):
        with pytest.raises(UnsupportedFeatureError) as error:
            call()
        assert error.value.hint
    env.add_jars("file:///path/to/flink-sql-connector-kafka-1.15.0.jar", "/x/flink-avro-2.3.0.jar")
    with pytest.raises(UnsupportedFeatureError, match="no JVM of Flink") as error:
        env.add_jars("file:///flink-sql-connector-kafka-1.15.0.jar", "file:///flink-sql-connector-hive-4.jar")
    assert error.value.detail == "file:///flink-sql-connector-hive-4.jar"
    names = (
        "elasticsearch7",
        "pulsar",
        "kinesis",
        "aws-kinesis-firehose",
        "cassandra_2.12",
        "mongodb",
        "sqs",
    )
    env.add_jars(*(f"file:///flink-sql-connector-{name}-5.0.0-2.0.jar" for name in names))


def test_close_forgets_the_program(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(str).uid("m").print()
    env.close()
    assert env.transformations == ()
    env.from_collection([1]).map(str).uid("m")


def test_the_serializer_is_that_of_pyflink(env: StreamExecutionEnvironment) -> None:
    stream = io.BytesIO()
    env.serializer.serialize([1, "two", None], stream)
    assert stream.getvalue()[:4] == len(env.serializer.dumps(1)).to_bytes(4, "big")
    stream.seek(0)
    assert list(env.serializer.deserialize(stream)) == [1, "two", None]
    assert list(env.serializer.deserialize(io.BytesIO(stream.getvalue()[:-1]))) == [1, "two"]
    assert env.serializer == PickleSerializer()
