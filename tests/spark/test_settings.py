"""What a session of ours is made with: its temporary files, and when executors are given up."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.spark import settings
from firesteel.spark.settings import REAL_TIME, session_settings, settings_of
from firesteel.storage.bounded_calls import bound_calls, call_limit_s
from tests.spark.conftest import MakeEnvironment

OPTIONS = "spark.driver.extraJavaOptions"
DAEMON = "spark.python.daemon.module"
SOCKETS = "spark.python.unix.domain.socket.dir"


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of the process."""
    monkeypatch.setattr(settings, "process_directory", lambda: tmp_path)
    monkeypatch.setattr(settings, "named_directory", lambda name: tmp_path / name)
    return tmp_path


@pytest.mark.spark
def test_workers_wait_for_hdfs_as_long_as_the_job_says(environment: MakeEnvironment) -> None:
    try:
        limits = (
            environment(1, firesteel_hdfs_timeout="7 s").from_collection([1]).map(lambda _: call_limit_s())
        )
        assert list(limits.execute_and_collect()) == [7.0]
        assert call_limit_s() == 7.0, "so does the driver"
    finally:
        bound_calls(Configuration())


def test_those_of_the_jvm_are_in_the_directory_of_the_process(directory: Path) -> None:
    found = session_settings({OPTIONS: "-Dmine=1"})
    assert shlex.split(found[OPTIONS])[0] == "-Dmine=1"
    assert f"-Djava.io.tmpdir={directory}/jvm" in shlex.split(found[OPTIONS])
    assert "spark.local.dir" not in found, "it is the same; a user's SPARK_LOCAL_DIRS would not count"


def test_a_user_may_put_them_elsewhere(directory: Path) -> None:
    found = session_settings({OPTIONS: "-Djava.io.tmpdir=/data"})
    assert str(directory / "jvm") not in found[OPTIONS]
    assert SOCKETS not in found


def test_sockets_have_short_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system takes about a hundred bytes."""
    for place, sockets in ((Path("/tmp/short"), None), (Path("/tmp") / ("l" * 60), "/tmp")):
        monkeypatch.setattr(settings, "process_directory", lambda place=place: place)
        monkeypatch.setattr(settings, "named_directory", lambda name, place=place: place / name)
        assert session_settings({}).get(SOCKETS) == sockets
        assert session_settings({SOCKETS: "/mine"})[SOCKETS] == "/mine"


def test_a_directory_with_a_space_is_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Path("/tmp/my files")
    monkeypatch.setattr(settings, "process_directory", lambda: place)
    monkeypatch.setattr(settings, "named_directory", lambda name: place / name)
    words = shlex.split(session_settings({})[OPTIONS])
    assert "-Djava.io.tmpdir=/tmp/my files/jvm" in words
    assert "-Dfiresteel.log.file=/tmp/my files/spark.log" in words


@pytest.mark.parametrize("slots", [0, 6, 40])
def test_a_session_serves_jobs_of_every_mode_whichever_comes_first(slots: int) -> None:
    found = session_settings(settings_of(Configuration(), slots))
    assert found.items() >= {key: value for key, (value, _) in REAL_TIME.items()}.items()
    threads = int(found["spark.master"].removeprefix("local[").removesuffix(",4]"))
    assert threads >= max(16, slots)


def test_a_master_that_was_chosen_keeps_its_threads() -> None:
    assert session_settings({"spark.master": "local[2]"})["spark.master"] == "local[2]"


def test_only_a_session_for_real_time_goes_without_the_second_compiler() -> None:
    configuration = Configuration().set_string(OPTIONS, "-Dmine=1")
    assert settings_of(configuration)[OPTIONS] == "-Dmine=1"
    assert settings_of(configuration, slots=6)[OPTIONS] == "-XX:TieredStopAtLevel=1 -XX:-UsePerfData -Dmine=1"


def test_a_user_may_have_both_compilers_in_real_time() -> None:
    configuration = Configuration().set_string(OPTIONS, "-XX:TieredStopAtLevel=4")
    assert settings_of(configuration, slots=6)[OPTIONS] == "-XX:TieredStopAtLevel=4"


@pytest.mark.parametrize(
    ("master", "daemon"),
    [
        (None, "firesteel.spark.daemon"),
        ("local[2]", "firesteel.spark.daemon"),
        ("local-cluster[2,1,1024]", "firesteel.spark.daemon"),
        ("spark://there:7077", None),
        ("yarn", None),
    ],
)
def test_workers_on_this_machine_are_forked_by_our_daemon(master: str | None, daemon: str | None) -> None:
    """On others the engine may be among the files that a program brings, which a daemon begins without."""
    conf = {} if master is None else {"spark.master": master}
    assert session_settings(conf).get(DAEMON) == daemon
    assert session_settings({**conf, DAEMON: "mine"})[DAEMON] == "mine"


def test_what_spark_submit_was_told_wins_over_our_defaults_and_the_configuration_over_it() -> None:
    told = {
        "spark.master": "spark://there:7077",
        "spark.executor.memory": "2g",
        "spark.app.name": "program.py",
    }
    found = session_settings(settings_of(Configuration(), submitted=told))
    assert {key: found[key] for key in told} == told
    assert DAEMON not in found
    assert "spark.driver.bindAddress" not in found
    mine = Configuration().set_string("spark.master", "local[2]")
    found = session_settings(settings_of(mine, submitted=told))
    assert (found["spark.master"], found["spark.executor.memory"]) == ("local[2]", "2g")


def test_sockets_of_workers_in_containers_of_yarn_have_short_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those containers have directories of their own for temporary files, with 140 bytes before any name."""
    monkeypatch.setattr(settings, "process_directory", lambda: Path("/tmp/short"))
    monkeypatch.setattr(settings, "named_directory", lambda name: Path("/tmp/short") / name)
    assert session_settings({"spark.master": "yarn"})[SOCKETS] == "/tmp"
    assert session_settings({"spark.master": "yarn", SOCKETS: "/run/mine"})[SOCKETS] == "/run/mine"
    assert SOCKETS not in session_settings({"spark.master": "spark://host:7077"})


def test_with_dynamic_allocation_executors_do_not_stay_for_shuffles_of_the_past() -> None:
    timeout = "spark.dynamicAllocation.shuffleTracking.timeout"
    on = {"spark.dynamicAllocation.enabled": "true"}
    assert session_settings(on)[timeout] == "60s"
    assert session_settings({**on, timeout: "10min"})[timeout] == "10min"
    assert timeout not in session_settings({})


LIVES, SILENT = "spark.executor.heartbeatInterval", "spark.storage.blockManagerHeartbeatTimeoutMs"


def made(**said: str) -> dict[str, str]:
    """Those that decide when an executor is lost."""
    found = session_settings(
        settings_of(Configuration.from_dict({key.replace("_", "."): v for key, v in said.items()}))
    )
    wanted = (LIVES, SILENT, "spark.network.timeoutInterval", "spark.shuffle.io.connectionCreationTimeout")
    return {key: found[key] for key in wanted if key in found}


@pytest.mark.row("S-FAIL-14")
def test_an_executor_is_lost_as_soon_as_with_flink() -> None:
    assert made(spark_master="spark://host:7077") == {
        LIVES: "10000ms",
        SILENT: "50000ms",
        "spark.network.timeoutInterval": "10000ms",
        "spark.shuffle.io.connectionCreationTimeout": "5s",
    }
    mine = made(spark_master="k8s://https://host", heartbeat_interval="2 s", heartbeat_timeout="1 min")
    assert (mine[LIVES], mine[SILENT], mine["spark.network.timeoutInterval"]) == (
        "2000ms",
        "60000ms",
        "2000ms",
    )


def test_what_is_said_in_sparks_words_wins() -> None:
    network = made(spark_master="yarn", spark_network_timeout="300s")
    assert SILENT not in network
    assert "spark.shuffle.io.connectionCreationTimeout" not in network
    assert (
        made(spark_master="yarn", spark_executor_heartbeatInterval="3s", heartbeat_interval="2 s")[LIVES]
        == "3s"
    )


@pytest.mark.parametrize("master", ["", "local", "local[4]", "local[*,4]"])
def test_a_local_master_has_no_executors_to_lose(master: str) -> None:
    assert made(**({"spark_master": master} if master else {}), heartbeat_timeout="1 min") == {}


def test_executors_that_would_be_lost_before_they_speak() -> None:
    with pytest.raises(
        ConfigurationError, match=r"heartbeat.timeout of 5000 ms is not longer than heartbeat.inter"
    ):
        made(spark_master="yarn", heartbeat_timeout="5 s")
