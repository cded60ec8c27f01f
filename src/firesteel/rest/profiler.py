"""Profiles of Python processes that somebody asks for and fetches later (Flink: ``ProfilingService``).

py-spy looks at the processes, as for flame graphs. Results are pages without scripts, kept in memory: as many
as ``rest.profiling.history-size`` says, of each process.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec.structs import replace

from firesteel.common._requirements import install_command
from firesteel.rest.errors import RestError, bad_request, not_found
from firesteel.rest.flame_page import flame_page
from firesteel.rest.messages.profiling import Profiling, ProfilingMode
from firesteel.rest.profiling import Node, look, py_spy
from firesteel.rest.settings import RestSettings

_KIND: Final = "Python"

#: Whether processes are looked at where they wait, too. What is not here py-spy cannot tell.
_IDLE: Final[dict[ProfilingMode, bool]] = {"CPU": False, "ITIMER": False, "WALL": True}
_CANNOT: Final[dict[ProfilingMode, str]] = {
    "ALLOC": "which code allocates memory",
    "LOCK": "who waits for locks",
}


class _Profiles:
    """Those of one process or group of processes, the newest first, and their pages by name."""

    def __init__(self, kept: int) -> None:
        self.known: deque[Profiling] = deque(maxlen=kept)
        self.pages: dict[str, str] = {}
        self.running: asyncio.Task[None] | None = None

    def add(self, profiling: Profiling) -> None:
        self.known.appendleft(profiling)
        names = {known.output_file for known in self.known}
        for name in [name for name in self.pages if name not in names]:
            del self.pages[name]


class Profiler:
    """Belongs to the event loop."""

    def __init__(self, settings: RestSettings, now_ms: Callable[[], int]) -> None:
        self._settings = settings
        self._now_ms = now_ms
        self._profiles: dict[str, _Profiles] = {}  # by the name of the resource

    def list(self, resource: str) -> list[Profiling]:
        """The newest first."""
        found = self._profiles.get(resource)
        return [] if found is None else [*found.known]

    def page(self, resource: str, name: str) -> str:
        """The result of that name.

        :raises RestError: 404: there is none.
        """
        found = self._profiles.get(resource)
        page = None if found is None else found.pages.get(name)
        if page is None:
            raise not_found(
                f"There is no profile {name[:100]!r}. GET .../profiler lists those that are kept."
            )
        return page

    def start(
        self,
        resource: str,
        mode: ProfilingMode,
        seconds: int,
        processes: Sequence[int],
        why_not: str | None = None,
    ) -> Profiling:
        """Begin to look at processes. What cannot be done is a profile that has failed, as in Flink.

        :param resource: the name that the file of the result begins with.
        :param why_not: why nobody can look at the processes; None: somebody can.
        :raises RestError: 404: profiles are off; 400: it takes too long; 409: one is being taken.
        """
        if not self._settings.profiling:
            raise not_found("Profiles are switched off: rest.profiling.enabled is false.")
        longest = self._settings.profiling_longest_s
        if not 0 < seconds <= longest:
            raise bad_request(f"`duration` must be set between (0s, {longest}s].")
        profiles = self._profiles.setdefault(resource, _Profiles(self._settings.profiles_kept))
        if profiles.running is not None and not profiles.running.done():
            raise RestError(409, f"{resource} is still under profiling.")
        begun = Profiling(
            status="RUNNING",
            mode=mode,
            trigger_time=self._now_ms(),
            finished_time=None,
            duration=seconds,
            message=None,
            output_file=None,
            profiling_mode=mode,
        )
        why_not = why_not or _why_not(mode)
        if why_not is not None:
            failed = self._failed(begun, why_not)
            profiles.add(failed)
            return failed
        profiles.add(begun)
        profiles.running = asyncio.ensure_future(self._take(resource, profiles, begun, list(processes)))
        return begun

    def _failed(self, begun: Profiling, why: str) -> Profiling:
        return replace(begun, status="FAILED", finished_time=self._now_ms(), message=why)

    async def _take(
        self, resource: str, profiles: _Profiles, begun: Profiling, processes: Sequence[int]
    ) -> None:
        try:
            root = await _sampled(processes, begun.duration, _IDLE[begun.mode])
            at = datetime.fromtimestamp(self._now_ms() / 1000).strftime("%Y-%m-%d_%H_%M_%S")
            name = f"{resource}_{begun.mode}_{at}.html"
            page = await asyncio.to_thread(flame_page, name.removesuffix(".html"), root)
            profiles.pages[name] = page
            ended = replace(
                begun,
                status="FINISHED",
                finished_time=self._now_ms(),
                message="Profiling Successful",
                output_file=name,
            )
        except _Unseen as error:
            ended = self._failed(begun, str(error))
        with suppress(ValueError):
            profiles.known[profiles.known.index(begun)] = ended

    async def close(self) -> None:
        """Nobody waits for profiles any more."""
        running = [p.running for p in self._profiles.values() if p.running is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class _Unseen(Exception):
    """No process could be looked at."""


def _why_not(mode: ProfilingMode) -> str | None:
    if mode in _CANNOT:
        return f"Nobody can tell {_CANNOT[mode]} from outside of {_KIND}; take {', '.join(_IDLE)}."
    if py_spy() is None:
        return f"Profiles need py-spy, which is not installed here: {install_command('profile', 'py-spy')}."
    return None


async def _sampled(processes: Iterable[int], seconds: int, idle: bool) -> Node:
    processes = list(processes)
    root = Node("all")
    with TemporaryDirectory(prefix="firesteel-profile-") as directory:
        files = [Path(directory, str(pid)) for pid in processes]
        errors = await asyncio.gather(
            *(look(p, f, idle, seconds) for p, f in zip(processes, files, strict=True))
        )
        for file, pid in zip(files, processes, strict=True):
            if file.is_file():
                root.add_stacks(file.read_text(errors="replace"), before=(f"process {pid}",))
    if all(error is not None for error in errors):
        why = f"py-spy could not look at them: {errors[0]}" if errors else "no Python process runs tasks now"
        raise _Unseen(f"Cannot start profiling: {why}.")
    return root
