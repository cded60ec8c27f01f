"""Files and checkpoints in S3: the same contracts as on a local disk, through HTTP."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from firesteel.common import Types
from firesteel.common.configuration import Configuration
from firesteel.connectors.files.rolling import Rolling
from firesteel.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.state.files import StateFiles
from firesteel.testing import MiniCluster
from tests.servers.remote_files import (
    ALWAYS,
    NEVER,
    check_fencing,
    check_manifests,
    check_row_sink,
    check_sources,
    check_storage_protocol,
    put,
    read_lines,
    run_running_maximum,
)
from tests.state.test_manifest import MANIFEST as FULL

MANIFEST = msgspec.structs.replace(FULL, vertices=())


@pytest.mark.row("S-DEPLOY-12", "S-CONN-09")
def test_the_storage_protocol(bucket: str) -> None:
    check_storage_protocol(bucket)


def test_sources_keep_the_contract(bucket: str, tmp_path: Path) -> None:
    check_sources(bucket, tmp_path)


@pytest.mark.parametrize("policy", [ALWAYS, NEVER])
def test_sinks_keep_the_contract(bucket: str, tmp_path: Path, policy: Rolling) -> None:
    check_row_sink(f"{bucket}/out", tmp_path, policy)


@pytest.mark.row("S-DEPLOY-12", "S-CONN-09")
def test_a_job_from_s3_to_s3_with_its_checkpoints_there(bucket: str) -> None:
    names = [f"{i:04d}" for i in range(300)]
    put(f"{bucket}/in/lines", "\n".join(names).encode())
    with MiniCluster.in_process():
        run_running_maximum(bucket)
    assert read_lines(f"{bucket}/out") == names, "a running maximum of a rising sequence is the sequence"


@pytest.mark.row("S-HA-03")
def test_the_older_of_two_drivers_is_fenced(bucket: str) -> None:
    check_fencing(f"{bucket}/chk")


@pytest.mark.row("S-CKPT-17")
def test_a_manifest_is_there_whole_or_not_at_all(bucket: str) -> None:
    check_manifests(f"{bucket}/chk", MANIFEST)


class Grows(MapFunction):
    """Keeps a kilobyte for each key; fails once, late."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.text = runtime_context.get_state(ValueStateDescriptor("text", Types.STRING()))

    def map(self, value: int) -> int:
        self.text.update(f"{self.text.value() or ''}{value} " * 100)
        if value == 1000 and not failed:
            failed.append(value)
            raise ValueError("once")
        return len(str(self.text.value()))


failed: list[int] = []


@pytest.mark.row("S-SLOT-20", "S-BACK-22")
@pytest.mark.parametrize("copies", [False, True])
def test_a_job_that_restarts_reads_its_copies(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies: bool
) -> None:
    fetched: list[str] = []

    def read(self: StateFiles, name: str, offset: int = 0, length: int | None = None) -> bytes:
        of_a_worker = self._copies is not None or not copies  # the driver looks which states there are
        if failed and name.endswith(".run") and of_a_worker:
            fetched.append(name)
        return inner(self, name, offset, length)

    inner = StateFiles.read
    monkeypatch.setattr(StateFiles, "read", read)
    failed.clear()
    settings = {
        "execution.checkpointing.dir": f"{bucket}/checkpoints",
        "execution.checkpointing.local-backup.enabled": str(copies).lower(),
        "execution.checkpointing.local-backup.dirs": str(tmp_path),
        "firesteel.epoch.max-records": "200",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    with MiniCluster.in_process():
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
        env.set_parallelism(1)
        env.enable_checkpointing(10)
        lengths = env.from_collection(range(1200)).key_by(lambda value: value).map(Grows())
        assert len(list(lengths.execute_and_collect("grows"))) == 1200
    assert failed == [1000]
    assert bool(fetched) is not copies
