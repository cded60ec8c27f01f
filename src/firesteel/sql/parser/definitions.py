"""The productions inside of CREATE TABLE and its like: columns, constraints, watermarks, options,
distribution."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from firesteel.sql.parser.errors import SqlValidationError
from firesteel.sql.parser.queries import QueryParser
from firesteel.sql.parser.statements import Query
from firesteel.sql.parser.tokens import STRING, Token
from firesteel.sql.schema import (
    ColumnKind,
    DeclaredColumn,
    DeclaredSchema,
    DeclaredWatermark,
    Distribution,
    PrimaryKey,
)

__all__ = ["DefinitionParser", "TableBody"]

Position = str | tuple[str, str] | None


@dataclass(slots=True)
class TableBody:
    """What stands between the parentheses."""

    columns: list[DeclaredColumn] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    watermark: DeclaredWatermark | None = None
    primary_key: PrimaryKey | None = None
    names: list[str] = field(default_factory=list)

    def schema(self) -> DeclaredSchema:
        watermarks = () if self.watermark is None else (self.watermark,)
        return DeclaredSchema(tuple(self.columns), watermarks, self.primary_key)


class DefinitionParser(QueryParser):
    def table_body(self, *, positions: bool = False, names: bool = False) -> TableBody:
        """``(a INT, b AS a + 1, WATERMARK FOR ..., PRIMARY KEY (a) NOT ENFORCED)``.

        :param positions: FIRST and AFTER may follow a column. :param names: a column may be without a type.
        """
        body = TableBody()
        self.expect("(")
        while True:
            self.element(body, positions=positions, names=names)
            if not self.take(","):
                break
        self.expect(")")
        return body

    def element(self, body: TableBody, *, positions: bool = False, names: bool = False) -> None:
        """One column, constraint or watermark."""
        if self.take("WATERMARK", "FOR"):
            if body.watermark is not None:
                raise SqlValidationError("Multiple WATERMARK declarations are not supported yet.")
            body.watermark = self._watermark()
        elif self.at("CONSTRAINT") or self.at("PRIMARY", "KEY") or self.at("UNIQUE"):
            self._constraint(body)
        else:
            self._column(body, positions, names)

    def _watermark(self) -> DeclaredWatermark:
        parts = list(self.path())
        self.expect("AS")
        return DeclaredWatermark(".".join(parts), self._expression_text())

    def _expression_text(self) -> str:
        """An expression as it is written, with its columns in backticks."""
        start = self.token
        tree = self.expression()
        text = self.text_from(start)
        names = (i.meta for c in tree.find_all(exp.Column) for i in c.find_all(exp.Identifier))
        places = ((at["start"] - start.start, at["end"] - start.start + 1) for at in names if "start" in at)
        for begin, end in sorted(places, reverse=True):
            if text[begin] != "`":
                text = f"{text[:begin]}`{text[begin:end]}`{text[end:]}"
        return text

    def _constraint(self, body: TableBody) -> None:
        name = self.name() if self.take("CONSTRAINT") else ""
        self._refuse_unique()
        self.expect("PRIMARY", "KEY")
        columns = self.in_parentheses(lambda: self.comma_list(self.name))
        self._not_enforced()
        if body.primary_key is not None:
            raise SqlValidationError("Duplicate primary key definition")
        body.primary_key = PrimaryKey(tuple(columns), name)

    def _refuse_unique(self) -> None:
        if self.at("UNIQUE"):
            raise SqlValidationError("UNIQUE constraint is not supported yet")

    def _not_enforced(self) -> None:
        if self.take("NOT", "ENFORCED"):
            return
        self.take("ENFORCED")
        raise SqlValidationError(
            "Flink doesn't support ENFORCED mode for PRIMARY KEY constraint. ENFORCED/NOT "
            "ENFORCED controls if the "
            "constraint checks are performed on the incoming/outgoing data. Flink does not own "
            "the data therefore "
            "the only supported mode is the NOT ENFORCED mode",
            hint="PRIMARY KEY (...) NOT ENFORCED",
        )

    def _column(self, body: TableBody, positions: bool, names: bool) -> None:
        parts = self.path()
        name = ".".join(parts)
        if names and self.at_any(",", ")"):
            body.names.append(name)
            return
        if self.take("AS"):
            text = self._expression_text()
            column = DeclaredColumn(name, ColumnKind.COMPUTED, expression=text, comment=self._comment())
        else:
            column = self._typed_column(name, body)
        body.columns.append(column)
        body.positions.append(self._position() if positions else None)

    def _typed_column(self, name: str, body: TableBody) -> DeclaredColumn:
        data_type = self.type_text().this
        if self.take("METADATA"):
            key = self.string() if self.take("FROM") else None
            virtual = self.take("VIRTUAL")
            return DeclaredColumn(name, ColumnKind.METADATA, data_type, None, key, virtual, self._comment())
        comment = self._comment()
        constraint = self.name() if self.take("CONSTRAINT") else ""
        self._refuse_unique()
        if self.take("PRIMARY", "KEY"):
            self._not_enforced()
            if body.primary_key is not None:
                raise SqlValidationError("Duplicate primary key definition")
            body.primary_key = PrimaryKey((name,), constraint)
        return DeclaredColumn(name, data_type=data_type, comment=comment or self._comment())

    def _comment(self) -> str | None:
        return self.string() if self.take("COMMENT") else None

    def comment(self) -> str:
        return self._comment() or ""

    def _position(self) -> Position:
        if self.take("FIRST"):
            return "FIRST"
        if self.take("AFTER"):
            return ("AFTER", ".".join(self.path()))
        return None

    # ---- options

    def options(self) -> dict[str, str]:
        """``('key' = 'value', ...)``."""
        found: dict[str, str] = {}
        self.expect("(")
        if self.take(")"):
            return found
        for key, value in self.comma_list(self._pair):
            found[key] = value
        self.expect(")")
        return found

    def _pair(self) -> tuple[str, str]:
        key = self.string()
        self.expect("=")
        return key, self.string()

    def with_options(self) -> dict[str, str]:
        return self.options() if self.take("WITH") else {}

    def keys(self) -> tuple[str, ...]:
        """``('a', 'b')``."""
        self.expect("(")
        if self.take(")"):
            return ()
        found = self.comma_list(self.string)
        self.expect(")")
        return tuple(found)

    # ---- partitions, distribution

    def names_in_parentheses(self) -> tuple[str, ...]:
        return tuple(self.in_parentheses(lambda: self.comma_list(self.name)))

    def partition(self) -> dict[str, str | None]:
        """``PARTITION (dt = '2020-01-01', hr)``; a column without a value gives None."""
        self.expect("PARTITION", "(")
        found: dict[str, str | None] = {}
        while True:
            name = self.name()
            found[name] = self._partition_value() if self.take("=") else None
            if not self.take(","):
                break
        self.expect(")")
        return found

    def _partition_value(self) -> str:
        if self.token.kind == STRING:
            return self.string()
        start = self.token
        self.expression()
        text = self.text_from(start)
        inner = text.partition("'")[2].rpartition("'")[0]
        return inner or text

    def full_partition(self) -> dict[str, str]:
        found = self.partition()
        for name, value in found.items():
            if value is None:
                raise SqlValidationError(f"The partition column '{name}' needs a value here.")
        return {k: v for k, v in found.items() if v is not None}

    def distribution(self) -> Distribution:
        """What follows DISTRIBUTED: ``BY HASH(a) INTO 4 BUCKETS``, ``INTO 4 BUCKETS``."""
        kind, columns, buckets = None, (), None
        names: tuple[str, ...] = columns
        if self.take("BY"):
            kind = self.take_any("HASH", "RANGE")
            names = self.names_in_parentheses()
        if self.take("INTO"):
            buckets = self.integer()
            self.expect("BUCKETS")
        elif not names:
            self.refuse(expected="BY or INTO")
        return Distribution(kind, buckets, names)

    # ---- queries

    def query_with_text(self) -> Query:
        start: Token = self.token
        tree = self.query()
        return Query(tree, self.text_from(start), start.start)
