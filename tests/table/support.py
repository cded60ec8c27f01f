"""What the tests of tables share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from firesteel.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from tests.runtime.support import environment, local_platform


@contextmanager
def tables(parallelism: int = 1) -> Iterator[StreamTableEnvironment]:
    """Programs of this block run in this process."""
    with local_platform():
        yield StreamTableEnvironment.create(environment(parallelism))


def stream_of(t: StreamTableEnvironment, rows: list[Any], types: Any) -> Any:
    """A stream in the environment of the tables."""
    return t._session.environment.from_collection(rows, types)


@contextmanager
def batch_tables() -> Iterator[TableEnvironment]:
    """As ``tables``, in batch mode."""
    with local_platform():
        yield TableEnvironment.create(EnvironmentSettings.in_batch_mode())


def files(path: object, name: str, **options: str) -> str:
    """The WITH clause of a table of files; of options, ``__`` is a dot and ``_`` a hyphen."""
    given = {"connector": "filesystem", "path": str(path), "format": name}
    given |= {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    lines = [f"'{key}' = '{value}'" for key, value in given.items()]
    return f"WITH ({', '.join(lines)})"


def changes(made: Any) -> list[str]:
    """The rows of a result with their kinds: ``+I[1, a]``."""
    with (made if hasattr(made, "collect") else made.execute()).collect() as rows:
        return [f"{row.get_row_kind()}[{', '.join(map(str, row))}]" for row in rows]


def rows(made: Any) -> list[tuple[Any, ...]]:
    """The values of the rows of a result."""
    with (made if hasattr(made, "collect") else made.execute()).collect() as found:
        return [tuple(row) for row in found]


def kept(made: Any) -> list[tuple[Any, ...]]:
    """The rows that are left when all changes are over, in order of their text."""
    found: list[tuple[Any, ...]] = []
    with (made if hasattr(made, "collect") else made.execute()).collect() as every:
        for row in every:
            if str(row.get_row_kind()) in ("+I", "+U"):
                found.append(tuple(row))
            else:
                found.remove(tuple(row))
    return sorted(found, key=str)
