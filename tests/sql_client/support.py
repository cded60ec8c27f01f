"""Clients of sessions in this process, whose jobs run without Spark.

python -m tests.sql_client.support HISTORY: such a client at the terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firesteel.common.configuration import Configuration
from firesteel.sql_client.client import Client
from firesteel.sql_client.embedded import EmbeddedExecutor
from tests.runtime.support import local_platform

SETTINGS = {"parallelism.default": "1", "sql-client.execution.result-mode": "TABLEAU"}
NUMBERS = (
    "CREATE TABLE numbers (id INT, word STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '3', "
    "'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '3', "
    "'fields.word.length' = '2')"
)
ENDLESS = (
    "CREATE TABLE endless (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '50', "
    "'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '100000000')"
)


@contextmanager
def client(**settings: str) -> Iterator[tuple[Client, list[str]]]:
    """A client without a screen, and the lines that it has printed."""
    lines: list[str] = []
    with local_platform():
        executor = EmbeddedExecutor(Configuration.from_dict({**SETTINGS, **settings}))
        try:
            yield Client(executor, lambda text: lines.extend(text.split("\n"))), lines
        finally:
            executor.close()


def main() -> None:
    from firesteel.sql_client.prompt import interact
    from firesteel.sql_client.views import show

    with local_platform():
        executor = EmbeddedExecutor(Configuration.from_dict(SETTINGS))
        found = Client(executor, lambda text: print(text, flush=True), view=show)
        for statement in (NUMBERS, ENDLESS):
            assert found.run(statement)
        interact(found, Path(sys.argv[1]))
        executor.close()
        print("left", flush=True)


if __name__ == "__main__":
    main()
