"""Input formats (Flink: ``InputFormat``)."""

from __future__ import annotations

from typing import Any

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.typeinfo import TypeInformation

__all__ = ["InputFormat"]


class InputFormat:
    """In PyFlink the handle of an input format written in Java; here the base class of formats that a
    connector offers under this name."""

    source: Any = None  # the source that reads it
    produced_type: TypeInformation | None = None

    def __init__(self, j_input_format: Any = None) -> None:
        if j_input_format is not None:
            raise UnsupportedFeatureError(
                "input formats written in Java cannot be used",
                hint="read the data by one of the connectors, such as FileSource",
            )
