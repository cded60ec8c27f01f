"""``Table.to_changelog`` and ``from_changelog``: the built-in TO_CHANGELOG and FROM_CHANGELOG on a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn

from firesteel.common.errors import ProgramError
from firesteel.sql import logical as l
from firesteel.sql.binder.changelog_functions import (
    ONE_COLUMN,
    changes_as_rows,
    no_such_column,
    rows_as_changes,
)
from firesteel.table import _tree as tree

__all__ = ["from_changelog", "to_changelog"]

_PARAMETERS: Final = ("op", "op_mapping", "uid")


def to_changelog(node: l.Node, arguments: Sequence[tree.Tree]) -> l.Node:
    """The plan of the changes of *node* as rows.

    :raises ProgramError: arguments are not those of TO_CHANGELOG.
    """
    given = _Arguments("TO_CHANGELOG", arguments)
    return changes_as_rows(node, given.column(), given.mapping(), given.refuse, given.uid())


def from_changelog(node: l.Node, arguments: Sequence[tree.Tree]) -> l.Node:
    """The plan of the table whose changes the rows of *node* are.

    :raises ProgramError: arguments are not those of FROM_CHANGELOG.
    """
    given = _Arguments("FROM_CHANGELOG", arguments)
    column = given.column()
    if column not in node.row.names:
        given.refuse(*no_such_column(node, column))
    return rows_as_changes(node, column, given.mapping(), given.refuse, given.uid())


class _Arguments:
    """Arguments by name; those without a name stand in the order of the parameters."""

    def __init__(self, function: str, arguments: Sequence[tree.Tree]) -> None:
        self._function = function
        self._given: dict[str, tree.Tree] = {}
        for position, argument in enumerate(arguments):
            if isinstance(argument, tree.Argument):
                name, value = argument.name, argument.operand
            elif position < len(_PARAMETERS):
                name, value = _PARAMETERS[position], argument
            else:
                self.refuse(f"{function} has at most {len(_PARAMETERS)} arguments.")
            if name not in _PARAMETERS or name in self._given:
                self.refuse(
                    f"The argument {name!r} of {function} is unknown or given twice.",
                    f"its arguments are {', '.join(_PARAMETERS)}",
                )
            self._given[name] = value

    def refuse(self, message: str, hint: str | None = None) -> NoReturn:
        raise ProgramError(message, hint=hint)

    def column(self) -> str:
        """The column of codes."""
        given = self._given.get("op")
        if given is None:
            return "op"
        if not isinstance(given, tree.Descriptor) or len(given.names) != 1:
            self.refuse(ONE_COLUMN, "pass descriptor('name')")
        return given.names[0]

    def mapping(self) -> list[tuple[str, str]] | None:
        given = self._given.get("op_mapping")
        if given is None:
            return None
        texts = given.arguments if isinstance(given, tree.FunctionCall) and given.function == "MAP" else ()
        values = [v.value for v in texts if isinstance(v, tree.Value) and isinstance(v.value, str)]
        if not values or len(values) < len(texts) or len(values) % 2:
            self.refuse(
                f"The argument 'op_mapping' of {self._function} must be a constant map of texts.",
                "pass map_('INSERT', 'I', 'DELETE', 'D')",
            )
        return list(zip(values[::2], values[1::2], strict=True))

    def uid(self) -> str | None:
        given = self._given.get("uid")
        if given is None:
            return None
        if not isinstance(given, tree.Value) or not isinstance(given.value, str):
            self.refuse(f"The argument 'uid' of {self._function} must be a constant text.")
        return given.value
