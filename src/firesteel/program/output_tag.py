"""The name and type of a side output."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from firesteel.common.typeinfo import TypeInformation
from firesteel.program.checks import WrongArgumentError, to_type_information

__all__ = ["OutputTag"]


class OutputTag:
    """Names a side output (Flink: ``OutputTag``).

    A function emits to it by yielding ``(tag, value)``; ``DataStream.get_side_output(tag)`` reads it.

    :param tag_id: the name, unique among the side outputs of one operator.
    :param type_info: the type of its records; a list of types means a Row of them; None: any Python object.
    """

    __slots__ = ("tag_id", "type_info")

    #: Whether this process has any tag. While it has none, no result of a function can be for a side output,
    #: and operators need not look.
    any_made: ClassVar[bool] = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        OutputTag.any_made = True
        return super().__new__(cls)

    def __init__(self, tag_id: str, type_info: TypeInformation | list[TypeInformation] | None = None) -> None:
        if not isinstance(tag_id, str) or not tag_id:
            raise WrongArgumentError(
                "An OutputTag needs a name.",
                detail=f"tag_id is {tag_id!r}",
                hint="give a text that is not empty, such as OutputTag('late-data')",
            )
        self.tag_id = tag_id
        self.type_info = to_type_information(type_info, "OutputTag type_info")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and other.tag_id == self.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"
