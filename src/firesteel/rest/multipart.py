"""Forms with files, as browsers send them: read as they come, so that nothing of them is in memory or on disk
but what a handler keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from email.message import Message
from typing import Any, Final

from firesteel.rest.errors import NO_FILE, bad_request, not_one_file

_PARTS: Final = 16


async def files_of(
    content_type: str, body: AsyncIterator[bytes]
) -> AsyncIterator[tuple[str, AsyncIterator[bytes]]]:
    """The files of a form with their names; each must be read before the next.

    :raises RestError: 400: it is no such form, or it is broken.
    """
    form = _Form(content_type, body)
    while (name := await form.next_file()) is not None:
        yield name, form.content()


class _Form:
    def __init__(self, content_type: str, body: AsyncIterator[bytes]) -> None:
        # An extra: who serves the API has it.
        from python_multipart.exceptions import MultipartParseError
        from python_multipart.multipart import MultipartParser

        header = Message()
        header["content-type"] = content_type
        boundary = header.get_param("boundary")
        if header.get_content_type() != "multipart/form-data" or not isinstance(boundary, str):
            raise not_one_file(NO_FILE)
        self._broken = MultipartParseError
        self._body = body
        self._events: list[tuple[str, bytes]] = []
        self._parser: Any = MultipartParser(
            boundary.encode("latin-1", "replace"),
            {
                "on_part_begin": lambda: self._events.append(("part", b"")),
                "on_part_data": self._on("data"),
                "on_part_end": lambda: self._events.append(("part end", b"")),
                "on_header_field": self._on("field"),
                "on_header_value": self._on("value"),
                "on_header_end": lambda: self._events.append(("header end", b"")),
                "on_headers_finished": lambda: self._events.append(("headers", b"")),
                "on_end": lambda: self._events.append(("end", b"")),
            },
        )
        self._parts = 0

    def _on(self, kind: str) -> Any:
        return lambda data, start, end: self._events.append((kind, bytes(data[start:end])))

    async def next_file(self) -> str | None:
        """The name of the next file; None: there are no more."""
        while True:
            kind, _ = await self._event()
            if kind == "end":
                return None
            if kind != "part":
                continue
            self._parts += 1
            if self._parts > _PARTS:
                raise bad_request(f"The form has more than {_PARTS} parts.")
            name = _file_name(await self._headers())
            if name is not None:
                return name

    async def content(self) -> AsyncIterator[bytes]:
        while True:
            kind, data = await self._event()
            if kind == "part end":
                return
            if kind == "data":
                yield data

    async def _headers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        field, value = b"", b""
        while True:
            kind, data = await self._event()
            if kind == "headers":
                return found
            if kind == "field":
                field += data
            elif kind == "value":
                value += data
            elif kind == "header end":
                found[field.decode("latin-1").lower()] = value.decode("utf-8", "replace")
                field, value = b"", b""

    async def _event(self) -> tuple[str, bytes]:
        while not self._events:
            try:
                part = await anext(self._body)
            except StopAsyncIteration:
                raise bad_request("The form is broken: it ends before its last boundary.") from None
            try:
                self._parser.write(part)
            except self._broken as e:
                raise bad_request(f"The form is broken: {e}.") from e
        return self._events.pop(0)


def _file_name(headers: dict[str, str]) -> str | None:
    """None: the part is no file."""
    header = Message()
    header["content-disposition"] = headers.get("content-disposition", "")
    name = header.get_filename()
    return name or None
