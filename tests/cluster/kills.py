"""A dispatcher is killed while it does something for a job, and another one takes its place: what its clients
were told holds, and the job's output is what it must be, line by line.

    python -m tests.cluster.kills [--runs N] [--seed S] [--report FILE] [KIND ...]
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from firesteel.cluster.client import ClusterUnreachableError, RequestRefusedError
from firesteel.cluster.remote_job import savepoint_location
from firesteel.common.errors import FiresteelError
from tests.cluster.dispatcher import DIES
from tests.cluster.support import JOB_ID, SessionCluster, until
from tests.kills import job
from tests.kills.outcomes import Journal, Outcome, Provenance
from tests.kills.report import report
from tests.servers.zookeeper.server import ZooKeeperServer
from tests.waiting import patience

REPORT: Final = Path("docs/design/cluster-kills.md")
_HEAD: Final = """\
# Kill tests of the session cluster

Jobs with exactly-once sinks run on a session cluster whose dispatcher is killed, and another one takes its
place; what they wrote is then compared with what they must write, line by line. The seed of a run decides
what is struck and when. Two dispatchers agree on their leader in a directory or in a real ZooKeeper; a leader
that is paused stands still (SIGSTOP) for longer than its lease, and goes on when the other one may lead.
`python -m tests.cluster.kills` makes this report; beside it `{journal}` has a line for each run.

"""
PROGRAM: Final = """
from tests.kills import job
job.build(env, Path(sys.argv[1]), rate=1500)
env.execute("killed")
"""
_PATIENCE_S: Final = 120.0
_LEASE_S: Final = 2.0


class Run:
    """One run. ``told``: what clients were told, by what they asked."""

    def __init__(self, kind: str, seed: int, place: Path) -> None:
        self.chance = random.Random(f"{kind} {seed}")
        self.place = place
        self.output = place / "output"
        self.output.mkdir(parents=True)
        self.cluster = SessionCluster(place)
        self.told: dict[str, str] = {}
        self.struck = False
        self.others: list[SessionCluster] = []
        self.servers: list[ZooKeeperServer] = []

    # ---- what is done

    def start(self, dies: str = "") -> None:
        self.cluster.start(**{DIES: dies})

    def submit(self, *options: str) -> subprocess.Popen[str]:
        settings = {
            "execution.checkpointing.interval": "100 ms",
            "execution.checkpointing.dir": str(self.place / "checkpoints"),
            "execution.checkpointing.num-retained": "2",
            "firesteel.epoch.max-records": str(job.PER_EPOCH),
            "firesteel.local-dir": str(self.place / "local"),
        }
        words = [word for key, value in settings.items() for word in ("-D", f"{key}={value}")]
        program = self.cluster.program(PROGRAM)
        return self.cluster.start_client(program, str(self.output), options=("-d", *words, *options))

    def accepted(self, client: subprocess.Popen[str]) -> str:
        """The id of the job, as its client was told."""
        out, err = client.communicate(timeout=patience(_PATIENCE_S))
        assert client.returncode == 0, err
        (found,) = JOB_ID.findall(out)
        return str(found)

    def await_death(self) -> None:
        """The dispatcher dies by its own hand; if it does not come to its point it is killed now."""
        with suppress(AssertionError):
            until(lambda: self.cluster.has_ended, 20)
        self.struck = self.cluster.has_ended
        self.cluster.kill()

    def ask(self, what: str, do: Callable[[], str]) -> threading.Thread:
        def ask() -> None:
            try:
                self.told[what] = do()
            except (ClusterUnreachableError, RequestRefusedError):
                self.told.setdefault(what, "")
            except FiresteelError as error:
                self.told[what] = f"refused: {error}"

        thread = threading.Thread(target=ask)
        thread.start()
        return thread

    def savepoint(self, job_id: str, how: str) -> threading.Thread:
        key = "targetDirectory" if how == "stop" else "target-directory"
        body: dict[str, Any] = {key: str(self.place / "savepoints")}
        client = self.cluster.client
        return self.ask(how, lambda: savepoint_location(client, job_id, how, body))

    # ---- what must hold

    def judge(self, job_id: str) -> str:
        """What is wrong; empty: nothing."""
        known = [found["id"] for found in self.cluster.client.get("/v1/jobs")["jobs"]]
        if known != [job_id]:
            return f"jobs are {known}, handed in was {job_id}"
        status = self.cluster.await_status(job_id, "FINISHED", "FAILED", "CANCELED", seconds=_PATIENCE_S)
        if status != "FINISHED":
            return f"it is {status}: {self.cluster.failure_of(job_id)}"
        stopped = self.told.get("stop", "")
        if stopped.startswith("refused"):
            stopped = ""
        found = job.differences(self.output, may_leave=True)
        if found and "stop" in self.told:
            found = self._resumed(stopped)
        return found

    def _resumed(self, told: str) -> str:
        """It was stopped before its end: it goes on from the savepoint."""
        written = sorted(
            (self.place / "savepoints").glob("*/_metadata"), key=lambda path: path.stat().st_mtime
        )
        if not written:
            return "it has stopped, and there is no savepoint"
        path = told or str(written[-1].parent)
        again = self.accepted(self.submit("-s", path))
        status = self.cluster.await_status(again, "FINISHED", "FAILED", seconds=_PATIENCE_S)
        if status != "FINISHED":
            return f"resumed from {path} it is {status}: {self.cluster.failure_of(again)}"
        return job.differences(self.output, may_leave=True)


def _around(point: str) -> Callable[[Run], str]:
    def strike(run: Run) -> str:
        run.start(dies=point)
        client = run.submit()
        run.await_death()
        run.start()
        return run.judge(run.accepted(client))

    return strike


def _running(run: Run) -> str:
    run.start()
    job_id = run.accepted(run.submit())
    for _ in range(run.chance.randrange(1, 3)):
        time.sleep(run.chance.uniform(0, 4))
        run.struck |= run.cluster.status(job_id) not in ("FINISHED", "FAILED")
        run.cluster.kill()
        run.start()
    return run.judge(job_id)


def _asked(how: str, most_ms: float) -> Callable[[Run], str]:
    def strike(run: Run) -> str:
        point = "stop" if how == "stop" else "savepoint"
        run.start(dies=f"{point}:{run.chance.uniform(0, most_ms):.1f}")
        job_id = run.accepted(run.submit())
        run.cluster.await_epoch(job_id)
        time.sleep(run.chance.uniform(0, 2))
        asking = run.savepoint(job_id, how)
        run.await_death()
        asking.join()
        run.start()
        return run.judge(job_id)

    return strike


def _cancelled(run: Run) -> str:
    """Who was told that a job is cancelled finds it so."""
    run.start()
    job_id = run.accepted(run.submit())
    run.cluster.await_epoch(job_id)
    run.cluster.client.send("PATCH", f"/v1/jobs/{job_id}?mode=cancel")
    time.sleep(run.chance.uniform(0, 0.2))
    run.cluster.kill()
    run.struck = True
    run.start()
    status = run.cluster.await_status(job_id, "FINISHED", "FAILED", "CANCELED")
    return "" if status == "CANCELED" else f"it was cancelled, and is {status}"


def _by_directory(run: Run) -> dict[str, str]:
    return {"high-availability.type": "directory"}


def _by_zookeeper(run: Run) -> dict[str, str]:
    server = ZooKeeperServer(run.place).start()
    run.servers.append(server)
    return {"high-availability.type": "zookeeper", "high-availability.zookeeper.quorum": server.address}


def _leader(
    strike: Callable[[SessionCluster, Run], None], agree: Callable[[Run], dict[str, str]]
) -> Callable[[Run], str]:
    """Two dispatchers share a cluster, and something happens to the one that leads.

    :param agree: starts what they agree by, and returns the settings of it.
    """

    def strikes(run: Run) -> str:
        settings = {
            "high-availability.storageDir": str(run.place / "shared"),
            "high-availability.lease-duration": f"{_LEASE_S:g} s",
            **agree(run),
        }
        both = run.others = [SessionCluster(run.place / name, **settings) for name in ("one", "two")]
        for cluster in both:
            cluster.start()
        run.cluster = both[run.chance.randrange(2)]  # a dispatcher that stands by says whom to ask
        job_id = run.accepted(run.submit())
        for _ in range(run.chance.randrange(1, 3)):
            time.sleep(run.chance.uniform(0, 3))
            leader = until(lambda: next((c for c in both if c.leads), None), _PATIENCE_S)
            other = both[1 - both.index(leader)]
            run.cluster = other
            # The one that stands by becomes the leader at this moment, perhaps: nobody listens at its port.
            status = until(lambda: other.status(job_id), _PATIENCE_S)  # noqa: B023 - it is called here
            run.struck |= status not in ("FINISHED", "FAILED")
            strike(leader, run)
            until(lambda: other.leads, _PATIENCE_S)  # noqa: B023 - it is called here
            if leader.has_ended:
                leader.start()
        return run.judge(job_id)

    return strikes


def _killed(leader: SessionCluster, run: Run) -> None:
    leader.kill()


def _paused(leader: SessionCluster, run: Run) -> None:
    """It stands still for longer than its lease, and goes on when another one leads, or is about to.

    It may be back before the other one has seen that the lease has run out, and leads again; then once more.
    """
    other_leads = False
    while not other_leads:
        leader.signal(signal.SIGSTOP)
        time.sleep(_LEASE_S * run.chance.uniform(1.2, 2.5))
        leader.signal(signal.SIGCONT)
        until(lambda: run.cluster.leads or leader.leads, _PATIENCE_S)
        other_leads = run.cluster.leads


STRIKES: Final[dict[str, Callable[[Run], str]]] = {
    "before the job is on disk": _around("before add"),
    "after the job is on disk": _around("after add"),
    "while the job runs": _running,
    "while a savepoint is written": _asked("savepoints", 60),
    "while the job is stopped": _asked("stop", 250),
    "when the job was cancelled": _cancelled,
    "before the job is archived": _around("before archive"),
    "after the job is archived": _around("after archive"),
    "the leader of two dispatchers is killed": _leader(_killed, _by_directory),
    "the leader of two dispatchers is paused": _leader(_paused, _by_directory),
    "the leader by ZooKeeper is killed": _leader(_killed, _by_zookeeper),
    "the leader by ZooKeeper is paused": _leader(_paused, _by_zookeeper),
}
KINDS: Final = tuple(STRIKES)


def one_run(kind: str, seed: int, place: Path) -> Outcome:
    begun_s = time.monotonic()
    run = Run(kind, seed, place)
    try:
        failure = STRIKES[kind](run)
    except (AssertionError, FiresteelError, subprocess.TimeoutExpired) as error:
        failure = f"{type(error).__name__}: {error}"
    finally:
        for cluster in {run.cluster, *run.others}:
            cluster.stop()
        for server in run.servers:
            server.stop()
    return Outcome(kind, seed, int(run.struck), time.monotonic() - begun_s, failure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1, help="of the first run of each kind")
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], metavar="KIND", help=", ".join(KINDS))
    arguments = parser.parse_args()
    file: Path = arguments.report
    lines = file.with_suffix(".jsonl")
    journal = Journal(lines, Provenance.of_this_tree([file, lines]))
    for kind in arguments.kinds or KINDS:
        first, runs = _missing(journal, kind, arguments.runs, arguments.seed)
        for seed in range(first, first + runs):
            with tempfile.TemporaryDirectory(prefix="firesteel-cluster-", ignore_cleanup_errors=True) as work:
                outcome = one_run(kind, seed, Path(work) / "run")
            print(f"{outcome.seconds:6.1f} s  {outcome}", flush=True)
            journal.add(outcome)
            file.write_text(report(journal.entries, KINDS, arguments.runs, {}, lines.name, _HEAD))
    sys.exit(any(outcome.failure for outcome in journal))


def _missing(journal: Journal, kind: str, runs: int, seed: int) -> tuple[int, int]:
    """The seed of the first run that is missing, and how many are."""
    left, first = journal.missing(kind, runs, seed)
    return first, left


if __name__ == "__main__":
    main()
