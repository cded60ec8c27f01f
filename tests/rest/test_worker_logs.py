"""The logs of executors: fetched piece by piece of what a worker of Spark serves, and never twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest

from firesteel.metrics.machines import Machines, WorkerInfo
from firesteel.rest.cluster import Log
from firesteel.rest.errors import RestError
from firesteel.rest.worker_logs import LogsOfAll, WorkerLogs


class SparkWorker:
    """Serves a log as the pages of a worker of Spark 4 do (``LogPage.renderLog``)."""

    def __init__(self) -> None:
        self.content = b""
        self.asked: list[int] = []
        worker = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                asked = parse_qs(url.query)
                if url.path != "/log/" or asked["logType"] != ["stderr"]:
                    self.send_error(404)
                    return
                size = len(worker.content)
                begin = min(int(asked["offset"][0]), size)
                end = min(begin + int(asked["byteLength"][0]), size)
                worker.asked.append(begin)
                head = f"==== Bytes {begin}-{end} of {size} of /spark/app/0/stderr ====\n"
                self.send_response(200)
                self.end_headers()
                self.wfile.write(head.encode() + worker.content[begin:end])

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        page = f"http://127.0.0.1:{self._server.server_port}/logPage/?appId=app&executorId=0&logType="
        self.info = info(("stderr", page + "stderr"), ("stdout", page + "stdout"))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def info(*logs: tuple[str, str], in_driver: bool = False) -> WorkerInfo:
    return WorkerInfo("w", "h:1", 1, 1, 0, 0, logs=logs, in_driver=in_driver)


@pytest.fixture
def worker() -> Iterator[SparkWorker]:
    found = SparkWorker()
    yield found
    found.close()


def test_a_log_is_followed(worker: SparkWorker) -> None:
    logs = WorkerLogs()
    worker.content = b"x" * (2 << 20) + b"end\n"
    file = logs.read(worker.info, "stderr")
    assert file is not None
    assert file.read_bytes() == worker.content
    worker.content += "more é\n".encode()
    worker.asked.clear()
    assert logs.read(worker.info, "stderr") == file
    assert file.read_bytes() == worker.content
    assert worker.asked == [(2 << 20) + 4]
    assert [(log.name, log.size) for log in logs.all(worker.info)] == [("stderr", len(worker.content))]
    assert logs.read(worker.info, "nothing") is None


def test_a_log_that_cannot_be_read_is_refused_with_the_place_where_it_is(worker: SparkWorker) -> None:
    logs = WorkerLogs()
    with pytest.raises(RestError, match="does not answer"):
        logs.read(worker.info, "stdout")
    elsewhere = info(("stderr", "http://node:8042/node/containerlogs/c/user/stderr?start=-4096"))
    with pytest.raises(RestError, match="http://node:8042/node") as refused:
        logs.read(elsewhere, "stderr")
    assert refused.value.status == 404


class Own:
    def all(self) -> tuple[Log, ...]:
        return (Log("spark.log", 1, 2),)

    def read(self, name: str) -> Path | str | None:
        return "text" if name == "spark.log" else None


@pytest.mark.parametrize(
    ("worker_id", "known", "content"), [(None, 1, "text"), ("w", 1, "text"), ("x", 0, None)]
)
def test_in_local_mode_the_logs_of_the_executor_are_those_of_the_driver(
    worker_id: str | None, known: int, content: str | None
) -> None:
    async def machines() -> Machines:
        return Machines((info(in_driver=True),))

    async def ask() -> tuple[int, Path | str | None]:
        logs = LogsOfAll(Own(), machines)
        return len(await logs.all(worker_id)), await logs.read(worker_id, "spark.log")

    assert asyncio.run(ask()) == (known, content)
