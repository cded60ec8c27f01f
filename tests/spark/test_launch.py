"""How the JVM of a session of ours is started, and what it lets others see."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway
from pyspark.sql import SparkSession

from firesteel.common.configuration import Configuration
from firesteel.common.errors import EngineError
from firesteel.spark import launch, settings
from firesteel.spark.launch import StartedJvm, Surroundings
from firesteel.spark.session import _telling_lines
from firesteel.spark.settings import session_settings, settings_of
from tests.jvms import leave
from tests.spark.support import python, run

# 127.0.0.1, ::1 and ::ffff:127.0.0.1 as the kernel writes them.
LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


@pytest.mark.spark
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/net")
def test_a_local_job_listens_on_the_loopback_address_only_and_says_nothing(tmp_path: Path) -> None:
    done = run(python("looks.py"), tmp_path)
    assert done.code == 0, done.err
    seen = json.loads(done.lines[-1])
    assert seen["java"] == 1
    assert len(seen["on"]) >= 2, "Spark's driver and its block manager"
    assert set(seen["on"]) <= LOOPBACK
    assert done.err == "", "nothing of Java's or Spark's"


@pytest.mark.spark
def test_a_jvm_that_outlives_its_log_says_nothing_of_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A program that ends removes its directory before its JVM has ended, which then may have a warning."""
    monkeypatch.setattr(settings, "process_directory", lambda: tmp_path / "gone")
    launch.prepare_environment()
    jvm = launch.start(settings.session_settings({"spark.master": "local[1]"}))
    try:
        port, secret = jvm.address()
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=secret))
        log = gateway.jvm.org.apache.logging.log4j.LogManager.getLogger("org.apache.spark.late")
        assert log.isWarnEnabled()
        log.warn("late")
        leave(gateway)
    finally:
        jvm.drop()
    assert capfd.readouterr().err == ""


@pytest.mark.spark
def test_java_is_given_what_sparks_own_launcher_gives_it(spark_session: SparkSession) -> None:
    options = spark_session._jvm.org.apache.spark.launcher.JavaModuleOptions  # type: ignore[union-attr]
    theirs = options.defaultModuleOptions().split()
    assert set(theirs) - set(launch.JAVA) <= {"--add-modules=jdk.incubator.vector"}
    assert all(option in theirs or option.startswith("-D") for option in launch.JAVA)


def test_java_is_not_asked_to_open_a_package_that_it_has_not_got() -> None:
    opened = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
    assert opened in launch.java_options(17)
    assert opened in launch.java_options(21)
    assert set(launch.JAVA) - set(launch.java_options(25)) == {opened}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[StartedJvm]]:
    """The JVMs that are started, which only wait here."""
    found: list[StartedJvm] = []

    def start(taken: Surroundings) -> StartedJvm:
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        found.append(StartedJvm(process, Path("none", "address"), taken))
        return found[-1]

    monkeypatch.setattr(launch, "_start", start)
    monkeypatch.setattr(launch, "_early", None)
    monkeypatch.setattr(launch, "prepare_environment", lambda: None)
    yield found
    for jvm in found:
        jvm.drop()


def test_the_first_session_takes_the_jvm_that_was_started_early(started: list[StartedJvm]) -> None:
    launch.start_early({"spark.master": "local[2]"})
    launch.start_early({"spark.master": "local[2]"})
    (early,) = started
    assert launch.start({"spark.master": "local[2]"}) is early
    assert launch.start({"spark.master": "local[2]"}) is not early


@pytest.mark.parametrize("slots", [0, 6])
@pytest.mark.parametrize("mode", ["epochs", "real-time", "auto"])
def test_a_jvm_that_started_before_the_job_was_known_is_taken_for_every_mode(
    started: list[StartedJvm], slots: int, mode: str
) -> None:
    launch.start_early(session_settings(settings_of(Configuration())))
    configuration = Configuration().set_string("execution.mode", mode)
    assert launch.start(session_settings(settings_of(configuration, slots))) is started[0]


def test_a_program_that_spark_submit_runs_starts_no_jvm(
    started: list[StartedJvm], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    launch.start_early({"spark.master": "local[2]"})
    assert started == []


def change_settings(_: pytest.MonkeyPatch) -> dict[str, str]:
    return {"spark.master": "local[2]", "spark.driver.memory": "2g"}


def change_a_variable(patch: pytest.MonkeyPatch) -> dict[str, str]:
    patch.setenv("SOMETHING_THAT_WORKERS_READ", "1")
    return {"spark.master": "local[2]"}


def change_the_directory(patch: pytest.MonkeyPatch) -> dict[str, str]:
    patch.chdir("/")
    return {"spark.master": "local[2]"}


@pytest.mark.parametrize("change", [change_settings, change_a_variable, change_the_directory])
def test_a_jvm_that_started_otherwise_is_dropped(
    started: list[StartedJvm],
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[pytest.MonkeyPatch], dict[str, str]],
) -> None:
    launch.start_early({"spark.master": "local[2]"})
    settings = change(monkeypatch)
    jvm = launch.start(settings)
    early, later = started
    assert jvm is later
    assert early.process.returncode is not None
    assert jvm.taken.settings == settings


def test_an_early_jvm_that_has_died_is_not_taken(started: list[StartedJvm]) -> None:
    launch.start_early({})
    started[0].process.kill()
    started[0].process.wait()
    assert launch.start({}) is started[1]


def test_a_jvm_that_does_not_start_is_an_error_that_says_how_it_ended(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(52)"], stdin=subprocess.PIPE)
    jvm = StartedJvm(process, tmp_path / "none" / "address", Surroundings({}, {}, "/"))
    with pytest.raises(EngineError, match=r"did not start[\s\S]*exit code 52[\s\S]*out of memory"):
        jvm.address()
    jvm.drop()


def test_scripts_of_spark_run_where_somebody_asks_for_them(tmp_path: Path) -> None:
    home = launch.spark_package()
    assert launch._is_plain(home, Surroundings({}, {"SPARK_LOCAL_DIRS": "/x"}, "/"))
    for variable in ("SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        assert not launch._is_plain(home, Surroundings({}, {variable: "/x"}, "/"))
    assert not launch._is_plain(home, Surroundings({"spark.driver.extraClassPath": "/x"}, {}, "/"))


def test_of_an_error_of_java_the_cause_of_all_is_shown() -> None:
    head = "An error occurred while calling None.JavaSparkContext.\n: SparkException: it\n\tat a.B.c\n"
    causes = (f"Caused by: Cause{n}: it\n\tat a.B.c(B.java:{n})\n\t... {n} more" for n in range(6))
    text = head + "\n".join(causes)
    assert _telling_lines(text) == [
        "An error occurred while calling None.JavaSparkContext.",
        ": SparkException: it",
        "Caused by: Cause0: it",
        "Caused by: Cause1: it",
        "Caused by: Cause5: it",
    ]
    assert _telling_lines("one line") == ["one line"]
