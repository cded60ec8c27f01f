"""Where a compiled plan is (PyFlink: ``pyflink.table.plan_reference``)."""

from __future__ import annotations

import pathlib

from firesteel.common.text_files import text_of

__all__ = ["BytesContentPlanReference", "FilePlanReference", "JsonContentPlanReference", "PlanReference"]


class PlanReference:
    """Made by its static methods."""

    def __init__(self, content: str | bytes | pathlib.Path) -> None:
        self._content = content

    @staticmethod
    def from_file(path: str | pathlib.Path) -> FilePlanReference:
        return FilePlanReference(pathlib.Path(path))

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        return JsonContentPlanReference(json_string)

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> BytesContentPlanReference:
        """The bytes of ``CompiledPlan.as_smile_bytes``."""
        return BytesContentPlanReference(smile_bytes)

    def _text(self) -> str:
        if isinstance(self._content, pathlib.Path):
            return text_of(self._content, "The plan")
        return self._content.decode() if isinstance(self._content, bytes) else self._content

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


class FilePlanReference(PlanReference):
    """A plan in a file."""

    def get_file(self) -> pathlib.Path:
        assert isinstance(self._content, pathlib.Path)
        return self._content


class JsonContentPlanReference(PlanReference):
    """A plan as JSON."""

    def get_content(self) -> str:
        assert isinstance(self._content, str)
        return self._content


class BytesContentPlanReference(PlanReference):
    """A plan as bytes."""

    def get_content(self) -> bytes:
        assert isinstance(self._content, bytes)
        return self._content
