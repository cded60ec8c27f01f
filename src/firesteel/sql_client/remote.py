"""Statements run by a SQL gateway: ours, or Flink's."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from firesteel.cluster.client import RequestRefusedError, RestClient
from firesteel.common.configuration import Configuration
from firesteel.common.errors import FiresteelError
from firesteel.common.options import execution, table as options
from firesteel.sql import types as t
from firesteel.sql.row_texts import KIND_NAMES, KIND_TEXTS
from firesteel.sql.type_json import type_from_json
from firesteel.table._printing import Change
from firesteel.table._text_results import NULL, Content, TextResult

__all__ = ["GatewayExecutor"]

_VERSION: Final = "/v3"
_POLL_S: Final = (0.05, 0.1, 0.2, 0.5)
_KINDS: Final = dict(zip(KIND_NAMES, KIND_TEXTS, strict=True))
_FORMAT: Final = "PLAIN_TEXT"
_OK: Final = "SUCCESS"


class GatewayExecutor:
    """Implements ``Executor``.

    :raises ClusterUnreachableError: nobody answers.
    """

    def __init__(self, client: RestClient, settings: Mapping[str, str]) -> None:
        self._client = client
        body = {"sessionName": "firesteel-sql", "properties": dict(settings)}
        handle = client.post(f"{_VERSION}/sessions", body)["sessionHandle"]
        self._path = f"{_VERSION}/sessions/{handle}"
        self._settings: dict[str, str] | None = None  # as they were last seen; None: they may have changed

    def execute(self, sql: str) -> TextResult:
        self._settings = None
        handle = self._client.post(f"{self._path}/statements", {"statement": sql})["operationHandle"]
        operation = _Operation(self._client, f"{self._path}/operations/{handle}")
        try:
            first = operation.first_page()
        except BaseException:
            operation.close()
            raise
        return self._result(operation, first)

    def setting(self, key: str) -> str | None:
        return self._properties().get(key)

    def _properties(self) -> dict[str, str]:
        if self._settings is None:
            self._settings = self._client.get(self._path)["properties"]
        return self._settings

    def candidates(self, sql: str, position: int) -> Sequence[str]:
        body = {"statement": sql, "position": position}
        found: list[str] = self._client.send("GET", f"{self._path}/complete-statement", body)["candidates"]
        return found

    def wait(self, job_id: str) -> None:
        """Wait for a job of the cluster that the gateway belongs to."""
        for pause_s in _pauses():
            status = self._client.get(f"/v1/jobs/{job_id}/status")["status"]
            if status == "FINISHED":
                return
            if status in ("FAILED", "CANCELED"):
                raise FiresteelError(f"Job {job_id} has not finished: it is {status}")
            time.sleep(pause_s)

    def jobs_that_end_with_it(self) -> Sequence[str]:
        return []

    def close(self) -> None:
        with suppress(FiresteelError):
            self._client.send("DELETE", self._path)

    def _result(self, operation: _Operation, first: Mapping[str, Any]) -> TextResult:
        columns = first["results"]["columns"]
        row = t.RowType.of(
            [column["name"] for column in columns],
            [type_from_json(column["logicalType"]) for column in columns],
        )
        # Of the others nothing depends on options.
        configuration = Configuration.from_dict(self._properties() if first["isQueryResult"] else {})
        content = _content(first, row)
        streaming = content is Content.QUERY and configuration.get(execution.RUNTIME_MODE) != "BATCH"
        return TextResult(
            content,
            row,
            operation.pages(first),
            streaming,
            configuration.get(options.DISPLAY_WIDTH) or 30,
            first.get("jobID"),
            operation.close,
        )


def _content(page: Mapping[str, Any], row: t.RowType) -> Content:
    if page["isQueryResult"]:
        return Content.QUERY
    if page["resultKind"] == _OK:
        return Content.OK
    if page.get("jobID") is not None:
        return Content.JOB
    rows = page["results"]["data"]
    is_text = row.names == ("result",) and len(rows) == 1 and "\n" in (rows[0]["fields"][0] or "")
    return Content.TEXT if is_text else Content.ROWS


class _Operation:
    """A statement that the gateway runs."""

    def __init__(self, client: RestClient, path: str) -> None:
        self._client = client
        self._path = path
        self._is_closed = False

    def first_page(self) -> dict[str, Any]:
        """The first page once the statement is accepted; of what is no query the first one with rows."""
        target = f"{self._path}/result/0?rowFormat={_FORMAT}"
        for pause_s in _pauses():
            page: dict[str, Any] = self._client.get(target)
            if page["resultType"] == "EOS":
                return page
            if page["resultType"] == "PAYLOAD" and (page["isQueryResult"] or page["results"]["data"]):
                return page
            target = page["nextResultUri"]
            time.sleep(pause_s)
        raise AssertionError("the pauses never end")

    def pages(self, page: Mapping[str, Any]) -> Iterator[list[Change]]:
        try:
            pauses = _pauses()
            while page["resultType"] != "EOS":
                rows = page["results"]["data"]
                if rows:
                    yield [(_KINDS[row["kind"]], _shown(row["fields"])) for row in rows]
                    pauses = _pauses()
                else:
                    time.sleep(next(pauses))
                page = self._client.get(page["nextResultUri"])
        finally:
            self.close()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            with suppress(RequestRefusedError):  # it is gone already
                self._client.send("DELETE", f"{self._path}/close")


def _shown(fields: Sequence[str | None]) -> list[str]:
    return [NULL if field is None else field for field in fields]


def _pauses() -> Iterator[float]:
    """Short at first."""
    yield from _POLL_S
    while True:
        yield _POLL_S[-1]
