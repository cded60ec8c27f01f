"""The REST API of a cluster whose parts are struck while a job runs on it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from firesteel.cluster.client import Address, ClusterUnreachableError, RequestRefusedError, RestClient
from tests.waiting import until

TOKEN: Final = "0123456789abcdef0123456789abcdef"


class Struck:
    """:param place: gives the host and the port at which the cluster is now."""

    def __init__(self, place: Callable[[], tuple[str, int]]) -> None:
        self._place = place

    def asked(self, path: str) -> Any:
        """An answer; None: there is none now."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        client = RestClient(Address(*self._place(), headers=headers), patience=1)
        try:
            return client.get(path)
        except (ClusterUnreachableError, RequestRefusedError):
            return None

    def answers(self, said: Callable[[], str] = str, seconds: float = 60) -> None:
        """Wait until it does. *said*: why it may not."""
        until(lambda: self.asked("/v1/overview"), lambda: f"no answer: {said()}", seconds, look_s=0.3)

    def goes_on(self, job: str) -> None:
        """Wait until the job completes checkpoints, and more of them."""
        until(lambda: self._checkpoints(job), f"job {job} does not run", 120, look_s=0.3)
        before = self._checkpoints(job)
        until(lambda: self._checkpoints(job) > before + 2, f"job {job} does not go on", 120, look_s=0.3)

    def finishes(self, job: str) -> None:
        def state() -> Any:
            return (self.asked(f"/v1/jobs/{job}") or {}).get("state")

        until(lambda: state() == "FINISHED", lambda: f"job {job} is {state()}", 180, look_s=1)

    def _checkpoints(self, job: str) -> int:
        found = self.asked(f"/v1/jobs/{job}/checkpoints")
        return found["counts"]["completed"] if found else 0


def submitted(said: str) -> str:
    """The id of the job that ``firesteel run`` says it has handed in."""
    (job,) = re.findall(r"\b[0-9a-f]{32}\b", said)
    return str(job)
