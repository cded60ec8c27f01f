"""Many runs of the job under each kind of strike. The seed of a run decides what strikes and when (but not
what it meets: that is for the machine to say), and is part of every failure."""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tests.jobmanager.programs.fault_points import POINTS
from tests.kills.application import SAY_WHERE
from tests.kills.outcomes import ROOT, Outcome
from tests.kills.strikes import REAL_TIME, SQL, small_disk, strike_of
from tests.waiting import patience

PATIENCE_S: Final = 300.0  # for the next word of a driver
_UNKNOWN_S: Final = 5.0  # that a run is taken to last while none has ended
_SAYING_S: Final = 5.0  # that a driver has to say where its threads are

Event = dict[str, Any]


class Driver:
    """An application that runs, and what it says."""

    def __init__(self, work: Path, hosts: int = 1, mode: str = "epochs") -> None:
        self._log = work / "log"
        work.mkdir()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.kills.application", str(work), str(hosts), mode],
                cwd=ROOT,
                env=os.environ
                | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "TMPDIR": str(work)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._is_up = False
        self._silent = False
        self._said: queue.Queue[Event | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(json.JSONDecodeError):
                self._said.put(json.loads(line))
        self._said.put(None)

    def wait_for(self, *events: str) -> Event | None:
        """The next of these that it says; None: it has ended, or says nothing for too long."""
        try:
            while (said := self._said.get(timeout=PATIENCE_S)) is not None:
                self._is_up = True
                if said["event"] in events:
                    return said
        except queue.Empty:
            self._silent = True
            self._process.send_signal(SAY_WHERE)
            time.sleep(_SAYING_S)
        return None

    def has_said(self, event: str) -> Event | None:
        """That, if it is among what it has said since the last ``wait_for``."""
        with suppress(queue.Empty):
            while (said := self._said.get_nowait()) is not None:
                if said["event"] == event:
                    return said
        return None

    def await_start(self) -> None:
        if not self._is_up:
            assert self.wait_for("ready") is not None, self.complaints

    def run(self, run: Run, dies: tuple[str, int] | None = None) -> None:
        assert self._process.stdin is not None
        plan = {"place": str(run.place), "kind": run.kind, "seed": run.seed, "dies": dies}
        self._process.stdin.write(json.dumps(plan) + "\n")
        self._process.stdin.flush()

    def kill(self, *, machine: bool) -> None:
        """``machine``: with its JVMs and its workers; else these find out by themselves."""
        (os.killpg if machine else os.kill)(self._process.pid, signal.SIGKILL)

    @property
    def was_killed(self) -> bool:
        return self._process.wait(PATIENCE_S) == -signal.SIGKILL

    def destroy(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(patience(30))
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()

    @property
    def complaints(self) -> str:
        """The last error of its own on standard error: what the JVM says while it ends comes after it. Of one
        that says nothing, where its threads are."""
        said = [s for s in self._log.read_text(errors="replace").splitlines() if not s.startswith("\tat ")]
        if self._silent:
            return "\n".join([f"it has said nothing for {PATIENCE_S:.0f} s", *said[-150:]])
        begins = [number for number, line in enumerate(said) if line.startswith("Traceback")]
        return "\n".join(["it has ended", *(said[begins[-1] :][:40] if begins else said[-40:])])


@dataclass(frozen=True)
class Run:
    kind: str
    seed: int
    place: Path


class Campaign:
    """:param work: an empty directory for everything.
    :param hosts: that the executors of a driver are on.
    :param mode: how the job runs, ``epochs`` or ``real-time``.
    """

    def __init__(self, work: Path, hosts: int = 1, mode: str = "epochs") -> None:
        self._work = work
        self._hosts = hosts
        self._mode = mode
        self._drivers: list[Driver] = []
        #: Of the quickest run that nothing has struck: drivers are struck within that time. The first one
        #: finds everything cold, so strikes come too late; a run that they miss says how long it takes then.
        self._seconds: float | None = None

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        while self._drivers:
            self._drivers.pop().destroy()

    def runs_of(self, kind: str, runs: int, seed: int) -> Iterator[Outcome]:
        special = _SPECIAL.get(strike_of(kind))
        return self.strike(kind, runs, seed) if special is None else special(self, kind, runs, seed)

    def strike(self, kind: str, runs: int, seed: int) -> Iterator[Outcome]:
        """One driver, struck below. The driver of the kind before is used again."""
        for run in self._runs(kind, runs, seed):
            driver = self._drivers[0] if self._drivers else self._start()
            driver.run(run)
            yield self._outcome(run, driver)

    def kill_drivers(self, kind: str, runs: int, seed: int) -> Iterator[Outcome]:
        """The driver dies at a random moment, with its machine or alone; another one goes on."""
        for run in self._runs(kind, runs, seed):
            chance = random.Random(run.seed)
            driver, heir = self._pair()
            driver.run(run)
            driver.wait_for("begin")
            self._pause(chance)
            driver.kill(machine=chance.random() < 0.5)
            self._drivers.remove(driver)
            heir.run(run)
            self._start()  # the next heir
            outcome = self._outcome(run, heir, strikes=1)
            driver.destroy()
            ended = driver.has_said("end")
            self._learn(ended)
            yield outcome if ended is None else replace(outcome, strikes=0)

    def replace_drivers(self, kind: str, runs: int, seed: int) -> Iterator[Outcome]:
        """Another driver takes the job at a random moment, while the one before runs on: that may commit
        nothing more."""
        for run in self._runs(kind, runs, seed):
            driver, heir = self._pair()
            driver.run(run)
            driver.wait_for("begin")
            self._pause(random.Random(run.seed))
            heir.run(run)
            outcome = self._outcome(run, heir, strikes=1)
            said = driver.wait_for("superseded", "end")
            self._drivers.reverse()  # who was replaced is the next heir
            if said is None:
                outcome = replace(outcome, failure=f"{outcome.failure} {driver.complaints}".strip())
                self._forget(driver)
            elif said["event"] == "end":  # before the other one took the job
                self._learn(said)
                outcome = replace(outcome, strikes=0)
            yield outcome

    def pass_fault_points(self, kind: str, runs: int, seed: int) -> Iterator[Outcome]:
        """The driver dies between two steps of a checkpoint, up to twice; all points come in turn."""
        points = list(POINTS)
        for number, run in enumerate(self._runs(kind, runs, seed)):
            chance = random.Random(run.seed)
            deaths = [(points[(seed + number) % len(points)], chance.randrange(1, 5))]
            deaths += [(chance.choice(points), chance.randrange(1, 3))] * chance.randrange(2)
            died = 0
            for death in (*deaths, None):  # a run may end without coming to its point
                driver, _ = self._pair()
                driver.run(run, death)
                ended = driver.wait_for("end")
                if ended is not None or not driver.was_killed:
                    break
                self._forget(driver)
                died += 1
            yield self._judged(run, driver, ended, died)

    def undisturbed(self, seed: int) -> Outcome:
        """What the others are compared with."""
        [outcome] = self.strike("undisturbed", 1, seed)
        return outcome

    def _pause(self, chance: random.Random) -> None:
        """Until a moment within a run."""
        time.sleep(chance.uniform(0, _UNKNOWN_S if self._seconds is None else self._seconds))

    def _learn(self, ended: Event | None) -> None:
        """Nothing has struck a run."""
        if ended is not None:
            seconds = ended["seconds"]
            self._seconds = seconds if self._seconds is None else min(self._seconds, seconds)

    # ---- drivers

    def _start(self) -> Driver:
        self._drivers.append(Driver(self._work / f"driver-{time.monotonic_ns()}", self._hosts, self._mode))
        return self._drivers[-1]

    def _pair(self) -> tuple[Driver, Driver]:
        """The driver, and its heir; both are up."""
        while len(self._drivers) < 2:
            self._start()
        for driver in self._drivers[:2]:
            driver.await_start()
        return self._drivers[0], self._drivers[1]

    def _forget(self, driver: Driver) -> None:
        self._drivers.remove(driver)
        driver.destroy()

    def _runs(self, kind: str, runs: int, seed: int) -> Iterator[Run]:
        for number in range(runs):
            place = self._work / f"{kind.replace(' ', '-')}-{seed + number}-{time.monotonic_ns()}"
            place.mkdir()
            with small_disk(place) if strike_of(kind) == "full disk" else nullcontext():
                yield Run(kind, seed + number, place)

    def _outcome(self, run: Run, driver: Driver, strikes: int | None = None) -> Outcome:
        return self._judged(run, driver, driver.wait_for("end"), strikes)

    def _judged(self, run: Run, driver: Driver, ended: Event | None, strikes: int | None) -> Outcome:
        if ended is None:
            self._forget(driver)
            return Outcome(run.kind, run.seed, strikes or 0, 0.0, f"the driver: {driver.complaints}")
        struck = ended["strikes"] if strikes is None else strikes
        if not struck:
            self._learn(ended)
        return Outcome(run.kind, run.seed, struck, ended["seconds"], ended["differences"])


_SPECIAL: Final = {
    "driver killed": Campaign.kill_drivers,
    "driver replaced": Campaign.replace_drivers,
    "fault points": Campaign.pass_fault_points,
}


@dataclass(frozen=True)
class Family:
    """Kinds that can use the same drivers."""

    kinds: tuple[str, ...]
    hosts: int = 1
    mode: str = "epochs"


_BELOW: Final = ("executor", "worker", "failing write", "full disk")
_DRIVERS: Final = ("driver replaced", "driver killed", "fault points")
FAMILIES: Final = (
    Family((*_BELOW, *(SQL + kind for kind in _BELOW))),
    Family((*_DRIVERS, *(SQL + kind for kind in _DRIVERS))),
    Family(("speculation", SQL + "speculation"), hosts=2),  # Spark runs no copy on the host of the original
    Family(tuple(REAL_TIME + kind for kind in _BELOW), mode="real-time"),
    Family(tuple(REAL_TIME + kind for kind in _DRIVERS), mode="real-time"),
)
