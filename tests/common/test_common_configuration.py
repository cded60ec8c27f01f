"""Conversions and errors as PyFlink 2.3's Configuration shows them."""

import logging
import pickle

import pytest

from firesteel.common import ConfigOptions, Configuration, Duration, ExecutionConfig
from firesteel.common.errors import (
    ConfigurationError,
    PathNotFoundError,
    ProgramError,
    UnsupportedFeatureError,
)


def test_typed_values_read_as_text_and_back():
    config = Configuration()
    config.set_string("s", "abc").set_integer("i", 5).set_boolean("b", True).set_float("f", 1)
    config.set_bytearray("y", bytearray(b"ab"))
    assert config.to_dict() == {"s": "abc", "i": "5", "b": "true", "f": "1.0", "y": "!!binary |-\n  YWI="}
    assert (config.get_string("i", ""), config.get_string("b", "")) == ("5", "true")
    assert (config.get_float("i", 0), config.get_integer("i", 0)) == (5.0, 5)
    assert config.get_bytearray("y", bytearray()) == b"ab"
    typed: dict = {}
    config.add_all_to_dict(typed)
    assert typed == {"s": "abc", "i": 5, "b": True, "f": 1.0, "y": b"ab"}
    assert str(Configuration().set_float("x", 1e10)) == "{x=1.0E10}"


def test_text_is_converted_when_it_is_read():
    config = Configuration.from_dict({"n": "007", "b": "TRUE", "f": "2.5"})
    assert (config.get_integer("n", 0), config.get_boolean("b", False), config.get_float("f", 0)) == (
        7,
        True,
        2.5,
    )
    assert config.get_integer("none", None) is None
    assert config.get_string("none", "d") == "d"


@pytest.mark.parametrize(
    ("getter", "value"),
    [
        ("get_integer", "1.5"),
        ("get_integer", ""),
        ("get_integer", "9999999999999999999"),
        ("get_boolean", "yes"),
        ("get_boolean", "1"),
        ("get_float", "abc"),
        ("get_duration_ms", "5 weeks"),
        ("get_memory_bytes", "1 pb"),
    ],
)
def test_unreadable_values_name_the_key(getter, value):
    with pytest.raises(ConfigurationError, match=f"could not parse the value '{value}' of the option 'key'"):
        getattr(Configuration.from_dict({"key": value}), getter)("key", 0)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("60000", 60000),
        ("60 s", 60000),
        ("1 min", 60000),
        ("1min", 60000),
        ("1 m", 60000),
        ("1 h", 3600000),
        ("2 hours", 7200000),
        ("1 day", 86400000),
        ("1 S", 1000),
        ("PT60S", 60000),
        ("PT1M", 60000),
        ("pt1.5s", 1500),
        ("P1DT2H", 93600000),
        ("1500 µs", 1),
        ("3000000 ns", 3),
        ("60000 milliseconds", 60000),
        (" 5 ms ", 5),
    ],
)
@pytest.mark.row("S-CFG-06")
def test_durations(text, ms):
    assert Configuration.from_dict({"d": text}).get_duration_ms("d", 0) == ms


@pytest.mark.parametrize("text", ["1.5 s", "-5 s", "abc", "", "1 us", "PT", "P", "s"])
def test_what_is_no_duration(text):
    with pytest.raises(ConfigurationError):
        Configuration.from_dict({"d": text}).get_duration_ms("d", 0)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1024", 1024),
        ("1kb", 1024),
        ("1 k", 1024),
        ("1 kibibytes", 1024),
        ("128m", 2**27),
        ("128MB", 2**27),
        ("1 gb", 2**30),
        ("1 t", 2**40),
        ("5 bytes", 5),
    ],
)
def test_memory_sizes(text, size):
    assert Configuration.from_dict({"m": text}).get_memory_bytes("m", 0) == size


@pytest.mark.parametrize("text", ["1.5g", "-1", "x", "", "1KiB"])
def test_what_is_no_memory_size(text):
    with pytest.raises(ConfigurationError):
        Configuration.from_dict({"m": text}).get_memory_bytes("m", 0)


def test_enum_lists_the_allowed_words():
    config = Configuration.from_dict({"mode": "exactly_once", "bad": "FOO"})
    words = ("EXACTLY_ONCE", "AT_LEAST_ONCE")
    assert config.get_enum("mode", "", words) == "EXACTLY_ONCE"
    assert config.get_enum("none", "AT_LEAST_ONCE", words) == "AT_LEAST_ONCE"
    with pytest.raises(ConfigurationError, match="EXACTLY_ONCE, AT_LEAST_ONCE"):
        config.get_enum("bad", "", words)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a;b", ["a", "b"]),
        ("[a, b]", ["a", "b"]),
        ("", []),
        ("['x;y', z]", ["x;y", "z"]),
        ("a", ["a"]),
        ("{a: b}", ["{a: b}"]),
    ],
)
def test_lists(text, values):
    assert Configuration.parse_list_value(text) == values
    assert Configuration.from_dict({"l": text}).get_list("l") == values


def test_lists_of_several_lines():
    text = "- a\n- 'b: c'  # said\n- d"
    assert Configuration.parse_list_value(text) == ["a", "b: c", "d"]
    assert Configuration.from_dict({"l": text}).get_list("l") == ["a", "b: c", "d"]


def test_maps():
    expected = {"a": "1", "b": "2"}
    for options in ({"m": "a:1,b:2"}, {"m": "{a: 1, b: 2}"}, {"m.a": "1", "m.b": "2"}):
        assert Configuration.from_dict(options).get_map("m") == expected
    with pytest.raises(ConfigurationError):
        Configuration.from_dict({"m": "nonsense"}).get_map("m")


@pytest.mark.row("S-CFG-03", "S-CFG-05")
def test_older_names_count():
    config = Configuration.from_dict({"state.backend": "rocksdb", "state.checkpoints.dir": "/c"})
    assert config.get_string("state.backend.type", "hashmap") == "rocksdb"
    assert config.get_string("execution.checkpointing.dir", "") == "/c"
    assert config.contains_key("state.backend.type")
    assert config.remove_config("state.backend.type")
    assert not config.contains_key("state.backend.type")


@pytest.mark.row("S-CFG-04")
def test_present_name_wins_with_a_warning(caplog):
    new, old = "execution.checkpointing.incremental", "state.backend.incremental"
    config = Configuration.from_dict({new: "true", old: "false"})
    with caplog.at_level(logging.WARNING):
        assert config.get_boolean(new, False) is True
    assert new in caplog.text
    assert old in caplog.text
    caplog.clear()
    assert Configuration.from_dict({new: "true", old: "true"}).get_boolean(new, False)
    assert caplog.text == ""


def test_value_semantics():
    one = Configuration.from_dict({"k": "5"})
    assert one == Configuration(one)
    assert hash(one) == hash(Configuration(one))
    assert one != Configuration().set_integer("k", 5)
    copied = Configuration(one)
    copied.set_string("k", "6")
    assert one.get_string("k", "") == "5"
    assert Configuration().add_all(one, "pre.").to_dict() == {"pre.k": "5"}
    assert (one.remove_config("k"), one.remove_config("k"), one.key_set()) == (True, False, set())
    assert pickle.loads(pickle.dumps(copied)) == copied


def test_bad_keys_and_values():
    for call in (
        lambda: Configuration().set_string("k", None),
        lambda: Configuration().set_string("k", 5),
        lambda: Configuration().set_integer(5, 5),
    ):
        with pytest.raises(ConfigurationError):
            call()


def test_described_options():
    config = Configuration.from_dict({"i": "5", "big": str(2**40), "f": "0.1"})
    assert config.get(ConfigOptions.key("i").int_type().no_default_value()) == 5
    assert config.get(ConfigOptions.key("none").int_type().default_value(7)) == 7
    assert config.get(ConfigOptions.key("none").string_type().no_default_value()) is None
    assert config.get(ConfigOptions.key("big").long_type().no_default_value()) == 2**40
    assert config.get(ConfigOptions.key("f").float_type().no_default_value()) == 0.10000000149011612
    assert config.get(ConfigOptions.key("f").double_type().no_default_value()) == 0.1
    with pytest.raises(ConfigurationError, match="32 bits"):
        config.get(ConfigOptions.key("big").int_type().no_default_value())


CONFIG_YAML = """\
# a cluster
execution:
  checkpointing:
    interval: 60 s   # each minute
    dir: 's3://bucket/it''s # here'
parallelism.default: 4
pipeline:
    jars: [a.jar, "b c.jar"]
    names:
    - x
    - y
    parameters: {a: 1, b: two}
url: http://host:8081
quoted: "a: b"
"""


def test_yaml(tmp_path):
    (tmp_path / "config.yaml").write_text(CONFIG_YAML, encoding="utf-8")
    config = Configuration.load(tmp_path)
    assert config.get_duration_ms("execution.checkpointing.interval", 0) == 60_000
    assert config.get_string("execution.checkpointing.dir", "") == "s3://bucket/it's # here"
    assert config.get_integer("parallelism.default", 0) == 4
    assert config.get_list("pipeline.jars") == ["a.jar", "b c.jar"]
    assert config.get_list("pipeline.names") == ["x", "y"]
    assert config.get_map("pipeline.parameters") == {"a": "1", "b": "two"}
    assert config.get_string("url", "") == "http://host:8081"
    assert config.get_string("quoted", "") == "a: b"
    assert len(config.key_set()) == 8


@pytest.mark.row("S-CFG-01")
def test_flat_file_of_older_versions(tmp_path):
    (tmp_path / "flink-conf.yaml").write_text(
        "# production\nstate.backend: rocksdb\nexecution.checkpointing.interval: 60000 # ms\n"
        "state.backend.incremental: true\ntaskmanager.memory.managed.fraction: 0.4\nstate.backend: hashmap\n"
    )
    config = Configuration.load(tmp_path)
    assert config.get_string("state.backend.type", "") == "hashmap"
    assert config.get_duration_ms("execution.checkpointing.interval", 0) == 60_000
    assert config.get_boolean("execution.checkpointing.incremental", False)
    assert config.get_float("taskmanager.memory.managed.fraction", 0) == 0.4


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\na: 2\n", 2),
        ("a: 1\n  b: 2\n", 2),
        ("a:\n", 1),
        ("a:\nb: 1\n", 1),
        ("novalue\n", 1),
        ("a: &x 1\n", 1),
        ("a:\n  b: 1\n c: 2\n", 3),
        ("a: |\n  text\n", 1),
    ],
)
def test_bad_yaml_names_the_line(tmp_path, text, line):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=f"line {line}:"):
        Configuration.load(path)


def test_missing_file(tmp_path):
    with pytest.raises(PathNotFoundError):
        Configuration.load(tmp_path)
    with pytest.raises(PathNotFoundError):
        Configuration.load(tmp_path / "config.yaml")


def test_execution_config_lives_in_a_configuration():
    configuration = Configuration.from_dict({"pipeline.max-parallelism": "64"})
    config = ExecutionConfig(configuration)
    assert config.get_max_parallelism() == 64
    assert (config.get_parallelism(), config.get_auto_watermark_interval()) == (-1, 200)
    assert (config.get_task_cancellation_interval(), config.get_task_cancellation_timeout()) == (
        30000,
        180000,
    )
    config.set_parallelism(3).set_auto_watermark_interval(50).enable_object_reuse()
    assert configuration.get_integer("parallelism.default", 0) == 3
    assert configuration.get_duration_ms("pipeline.auto-watermark-interval", 0) == 50
    assert config.set_parallelism(ExecutionConfig.PARALLELISM_UNKNOWN).get_parallelism() == 3
    assert config.set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT).get_parallelism() == -1
    assert config.is_object_reuse_enabled()
    assert not config.disable_auto_generated_uids().has_auto_generated_uids_enabled()
    assert not config.disable_closure_cleaner().is_closure_cleaner_enabled()
    assert config.set_global_job_parameters({"a": 1}).get_global_job_parameters() == {"a": "1"}
    assert config == ExecutionConfig(Configuration(configuration))


def test_execution_config_refuses():
    config = ExecutionConfig()
    for call in (
        lambda: config.set_parallelism(0),
        lambda: config.set_max_parallelism(0),
        lambda: config.set_max_parallelism(32769),
        lambda: config.set_auto_watermark_interval(-1),
    ):
        with pytest.raises(ProgramError):
            call()
    for refused in (config.enable_force_kryo, config.enable_force_avro, config.disable_generic_types):
        with pytest.raises(UnsupportedFeatureError):
            refused()


def test_duration_as_option_value():
    config = Configuration()
    config._set("d", Duration.of_seconds(2))
    assert config.get_duration_ms("d", 0) == 2000
