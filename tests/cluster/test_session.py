"""Jobs of a session: each in a process of its own, whatever becomes of its client and of other jobs."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cluster.dispatcher import PERISHES
from tests.cluster.support import JOB_ID, SessionCluster, until
from tests.waiting import patience

MANY = """
def run(number, out):
    def keep(value):
        with open(out / str(number), "a") as file:
            file.write(f"{value}\\n")
        return value
    count = None if number == 4 else 400
    source = DataGeneratorSource(lambda i: i, count, RateLimiterStrategy.per_second(400), Types.LONG())
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    stream.key_by(lambda v: v % 7).reduce(lambda a, b: a + b).map(keep).print()
    return env.execute_async(f"job {number}")

for number in range(10):
    run(number, Path(sys.argv[1]))
"""


def sums() -> list[int]:
    """What each of the jobs gives, sorted."""
    totals = [0] * 7
    found = []
    for value in range(400):
        totals[value % 7] += value
        found.append(totals[value % 7])
    return sorted(found)


@pytest.mark.row("S-CTRL-02", "S-CTRL-06", "S-CTRL-08", "S-DEPLOY-01", "S-CLI-04")
@pytest.mark.row("S-API-01", "S-GRAPH-15", "S-CTRL-01")
def test_ten_jobs_at_once_one_of_them_cancelled(cluster: SessionCluster, tmp_path: Path) -> None:
    jobs = cluster.submit(MANY, str(tmp_path))
    assert len(jobs) == 10
    done = cluster.command("cancel", jobs[4])
    assert (done.returncode, done.stdout) == (0, f"Cancelled job {jobs[4]}.\n"), done.stderr
    for number, job in enumerate(jobs):
        cluster.await_status(job, "CANCELED" if number == 4 else "FINISHED", seconds=120)
        if number != 4:
            assert sorted(map(int, cluster.log_of(job, "out").split())) == sums()
    listed = json.loads(cluster.command("list", "-a", "--json").stdout)
    assert {job["jid"] for job in listed} >= set(jobs)


@pytest.mark.row("S-CLI-01", "S-DEPLOY-10")
def test_what_a_client_that_waits_is_told(cluster: SessionCluster) -> None:
    done = cluster.run("""
from firesteel.common.accumulators import IntCounter
from firesteel.datastream import MapFunction, RuntimeContext

class Count(MapFunction):
    def open(self, context):
        self.seen = IntCounter()
        context.add_accumulator("seen", self.seen)
    def map(self, value):
        self.seen.add(1)
        return value

env.from_collection([1, 2, 3]).map(Count()).print()
result = env.execute("counted")
print(result.get_accumulator_result("seen"), result.get_net_runtime() >= 0)
print(sorted(env.from_collection([1, 2, 3]).map(lambda v: v * 10).execute_and_collect()))
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 True\n[10, 20, 30]\n"
    first, _ = JOB_ID.findall(done.stderr)
    assert cluster.log_of(first, "out") == "1\n2\n3\n"
    accumulators = cluster.client.get(f"/v1/jobs/{first}/accumulators")["user-task-accumulators"]
    assert {"name": "seen", "value": "3"}.items() <= accumulators[0].items()


@pytest.mark.row("S-CLI-02", "S-DEPLOY-10")
def test_a_detached_client_knows_nothing_of_its_job(cluster: SessionCluster) -> None:
    done = cluster.run(
        """
env.from_collection([1]).print()
result = env.execute("left")
print(result.is_job_execution_result())
result.get_net_runtime()
""",
        options=("-d",),
    )
    assert done.returncode == 1
    assert "False" in done.stdout
    assert "Job was submitted in detached mode" in done.stderr


@pytest.mark.row("S-CLI-01", "S-ARCH-03")
def test_a_client_that_is_killed_does_not_hurt_its_job(cluster: SessionCluster) -> None:
    client = cluster.start_client(
        cluster.program("""
source = DataGeneratorSource(lambda i: i, 600, RateLimiterStrategy.per_second(300), Types.LONG())
env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").print()
env.execute("survives")
""")
    )
    assert client.stderr is not None
    (job,) = JOB_ID.findall(client.stderr.readline())
    client.kill()
    client.communicate()
    cluster.await_status(job, "FINISHED")
    assert list(map(int, cluster.log_of(job, "out").split())) == list(range(600))


@pytest.mark.parametrize("end", ["ctrl-c", "killed"])
def test_a_job_that_needs_its_client_ends_with_it(cluster: SessionCluster, end: str) -> None:
    """Flink: --shutdownOnAttachedExit."""
    # Who is interrupted says so itself, and a client that lives must not be too slow for its next beat.
    timeout = "60 s" if end == "ctrl-c" else "6 s"
    beats = ("-D", "client.heartbeat.interval=200 ms", "-D", f"client.heartbeat.timeout={timeout}")
    client = cluster.start_client(
        cluster.program("endless().print()\nenv.execute('needs me')\n"), options=("-sae", *beats)
    )
    assert client.stderr is not None
    (job,) = JOB_ID.findall(client.stderr.readline())
    cluster.await_epoch(job)
    client.send_signal(signal.SIGINT if end == "ctrl-c" else signal.SIGKILL)
    _, err = client.communicate(timeout=patience(30))
    if end == "ctrl-c":
        assert client.returncode == 130
        assert "cancelled" in err
    cluster.await_status(job, "CANCELED")


def test_ctrl_c_leaves_the_job_alone(cluster: SessionCluster) -> None:
    client = cluster.start_client(cluster.program("endless().print()\nenv.execute('goes on')\n"))
    assert client.stderr is not None
    (job,) = JOB_ID.findall(client.stderr.readline())
    cluster.await_epoch(job)
    client.send_signal(signal.SIGINT)
    _, err = client.communicate(timeout=patience(30))
    assert client.returncode == 130
    assert f"Job {job} goes on; `firesteel cancel {job}` ends it." in err
    assert cluster.status(job) == "RUNNING"
    cluster.command("cancel", job)
    cluster.await_status(job, "CANCELED")


ENDS = {
    "segfault": ("import ctypes; ctypes.string_at(0)", "was killed by SIGSEGV"),
    "os._exit": ("os._exit(3)", "ended with exit code 3"),
    "sys.exit": ("sys.exit(5)", "SystemExit"),
}


@pytest.mark.parametrize("how", ENDS)
def test_the_end_of_a_process_is_that_of_one_job(cluster: SessionCluster, how: str) -> None:
    code, said = ENDS[how]
    (bad,) = cluster.submit(f"""
def die(value):
    {code}
endless().map(die).print()
env.execute("dies")
""")
    assert cluster.await_status(bad, "FAILED") == "FAILED"
    assert said in cluster.failure_of(bad)
    (good,) = cluster.submit("env.from_collection([1]).print()\nenv.execute('lives')\n")
    cluster.await_status(good, "FINISHED")


def test_a_job_whose_engine_dies_goes_on_whatever_its_process_saw_of_that(cluster: SessionCluster) -> None:
    (job,) = cluster.submit(f"env.from_collection([1]).print()\nenv.execute('{PERISHES} once')\n")
    cluster.await_status(job, "FINISHED")
    assert cluster.log_of(job, "out") == "1\n"


@pytest.mark.row("S-SLOT-24")
def test_two_programs_have_modules_of_one_name(cluster: SessionCluster) -> None:
    found = []
    for word in ("one", "two"):
        program = cluster.program("""
import utils
env.from_collection([1]).map(lambda v: utils.word()).print()
env.execute("utils")
""")
        (program.parent / "utils.py").write_text(f"def word():\n    return {word!r}\n")
        client = cluster.start_client(program)
        _, err = client.communicate(timeout=patience(60))
        assert client.returncode == 0, err
        found += [cluster.log_of(job, "out") for job in JOB_ID.findall(err)]
    assert found == ["one\n", "two\n"]


def test_files_that_a_program_names_travel_with_it(cluster: SessionCluster, tmp_path: Path) -> None:
    (tmp_path / "extra.py").write_text("def word():\n    return 'extra'\n")
    done = cluster.run(
        """
def both(value):
    import extra
    return extra.word(), value
env.from_collection([1]).map(both).print()
env.execute("named")
""",
        options=("--py-files", str(tmp_path / "extra.py")),
    )
    assert done.returncode == 0, done.stderr
    (job,) = JOB_ID.findall(done.stderr)
    assert cluster.log_of(job, "out") == "('extra', 1)\n"


def test_a_failed_job_says_why(cluster: SessionCluster) -> None:
    done = cluster.run("""
def divide(value):
    return 6 // value
env.from_collection([3, 0]).map(divide).print()
env.execute("fails")
""")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert "in divide" in done.stderr


def test_what_cannot_run_on_a_cluster_is_refused_by_the_client(cluster: SessionCluster) -> None:
    done = cluster.run("env.from_collection([1]).cache().print()\nenv.execute()\n")
    assert done.returncode == 1
    assert "cache()" in done.stderr
    assert not JOB_ID.findall(done.stderr)


def test_nobody_is_there(tmp_path: Path) -> None:
    nowhere = SessionCluster(tmp_path)
    nowhere.port = 9
    done = nowhere.command("list")
    assert done.returncode == 3
    assert "There is no cluster at http://127.0.0.1:9" in done.stderr


@pytest.mark.row("S-CLI-03", "S-CLI-05", "S-SAVE-01")
def test_savepoint_stop_and_resume(cluster: SessionCluster, tmp_path: Path) -> None:
    text = """
env.enable_checkpointing(300)
endless().key_by(lambda v: 0).reduce(lambda a, b: b).uid("total").print()
env.execute("goes on")
"""
    options = ("-d", "-D", f"execution.checkpointing.dir={tmp_path}/checkpoints")
    done = cluster.run(text, options=options)
    (job,) = JOB_ID.findall(done.stdout)
    cluster.await_epoch(job, 2)
    taken = cluster.command("savepoint", job, str(tmp_path / "savepoints"))
    assert taken.returncode == 0, taken.stderr
    path = taken.stdout.strip().removeprefix("Savepoint completed. Path: ")
    assert Path(path).is_dir()
    assert "Checkpoint" in cluster.command("checkpoint", job).stdout
    listed = json.loads(cluster.command("state", "ls", job, "--json").stdout)
    assert ("total", "_reduce_state") in {(found["operator"], found["name"]) for found in listed}
    kept = cluster.command("state", "get", job, "total", "_reduce_state", "0")
    assert kept.returncode == 0, kept.stderr
    assert int(kept.stdout) > 0
    assert "as of epoch" in kept.stderr
    unknown = cluster.command("state", "get", job, "total", "none", "0")
    assert unknown.returncode == 1
    assert "has no state 'none'" in unknown.stderr
    stopped = cluster.command("stop", "-p", str(tmp_path / "savepoints"), job)
    assert stopped.returncode == 0, stopped.stderr
    cluster.await_status(job, "FINISHED")
    last = stopped.stdout.strip().removeprefix("Savepoint completed. Path: ")
    seen = int(cluster.log_of(job, "out").split()[-1])
    (again,) = JOB_ID.findall(cluster.run(text, options=(*options, "-s", last)).stdout)
    until(lambda: cluster.log_of(again, "out"))
    assert int(cluster.log_of(again, "out").split()[0]) == seen + 1
    cluster.command("cancel", again)
    without = "endless().print()\nenv.execute('without state')\n"
    refused = cluster.run(without, options=("-s", path))
    assert refused.returncode == 1
    assert "--allow-non-restored-state" in refused.stderr
    (other,) = JOB_ID.findall(cluster.run(without, options=("-d", "-s", path, "-n")).stdout)
    until(lambda: cluster.log_of(other, "out"))
    planned = cluster.info(without)
    shown = cluster.client.get(f"/v1/jobs/{other}/plan")["plan"]
    assert {vertex["id"] for vertex in planned["job_graph"]["vertices"]} == {n["id"] for n in shown["nodes"]}
    cluster.command("cancel", other)
    disposed = cluster.command("savepoint", "-d", path)
    assert disposed.returncode == 0, disposed.stderr
    assert not Path(path).exists()
    cluster.await_status(again, "CANCELED")
    refused = cluster.command("savepoint", again)
    assert refused.returncode == 1
    assert "has ended" in refused.stderr


def test_logs_events_and_top(cluster: SessionCluster) -> None:
    (job,) = cluster.submit("env.from_collection([7]).print()\nenv.execute('seen')\n")
    cluster.await_status(job, "FINISHED")
    assert cluster.command("logs", "--out", "-f", job).stdout == "7\n"
    events = [json.loads(line) for line in cluster.command("events", "--json", job).stdout.splitlines()]
    assert [e["status"] for e in events if e["event"] == "StatusChanged"][-1] == "FINISHED"
    assert events[-1]["event"] == "End"
    top = cluster.command("top", "--once")
    assert top.stdout.startswith("slots ")
    unknown = cluster.command("events", "0" * 32)
    assert unknown.returncode == 4
