"""Whether the JVM has died is asked after each failure, so it must not take time while the JVM lives."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from firesteel.spark.jvm import DriverJvm

pytestmark = pytest.mark.spark


class Waited(Exception):
    pass


class Process:
    """Of a JVM, as far as it is asked. Waiting for its end is a mistake, or what is expected."""

    returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout_s: float) -> None:
        raise Waited


def test_a_jvm_that_answers_is_not_waited_for(
    spark_session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    jvm = DriverJvm(spark_session)
    monkeypatch.setattr(jvm, "_process", Process())
    assert jvm.loss(replaceable=True) is None


def test_a_jvm_that_stops_or_does_not_answer_is_waited_for(
    spark_session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    jvm = DriverJvm(spark_session)
    monkeypatch.setattr(jvm, "_process", Process())
    monkeypatch.setattr(spark_session.sparkContext, "_jsc", None)
    with pytest.raises(Waited):
        jvm.loss(replaceable=True)


def test_a_jvm_of_another_process_is_waited_for_until_its_port_is_closed(
    spark_session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system closes the ports of a process that was killed a while after its death."""
    jvm = DriverJvm(spark_session)
    monkeypatch.setattr(jvm, "_process", None)
    assert jvm.loss(replaceable=False) is None
    monkeypatch.setattr(spark_session.sparkContext, "_jsc", None)  # no call is answered any more
    looks = iter([True, True, False])
    monkeypatch.setattr(jvm, "_listens", lambda: next(looks))
    loss = jvm.loss(replaceable=False)
    assert loss is not None
    assert "does not answer any more" in str(loss)
