"""A table of a program: a query that is put together, and run when it is asked for (PyFlink:
``pyflink.table.table``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.common.errors import ProgramError
from firesteel.sql import logical as l
from firesteel.sql.schema import ResolvedSchema as LogicalSchema
from firesteel.table import _changelogs as changelogs, _plans as plans, _tree as tree
from firesteel.table.expression import Expression, tree_of
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.table.table_schema import TableSchema
from firesteel.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from firesteel.table.catalog import ResolvedSchema
    from firesteel.table.explain_detail import ExplainDetail
    from firesteel.table.table_environment import TableEnvironment
    from firesteel.table.table_pipeline import TablePipeline
    from firesteel.table.table_result import TableResult

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]


def _trees(fields: tuple[Any, ...]) -> list[tree.Tree]:
    if len(fields) == 1 and isinstance(fields[0], list | tuple):
        fields = tuple(fields[0])
    return [_tree(f) for f in fields]


def _tree(field: Any) -> tree.Tree:
    """:raises ProgramError: a name, or another constant, stands where an expression is meant."""
    if not isinstance(field, Expression):
        shown = f"col({field!r})" if isinstance(field, str) else f"lit({field!r})"
        raise ProgramError("Not an expression.", detail=f"got {field!r}", hint=shown)
    return field._tree


class Table:
    """A query over other tables. Every method gives another table, and nothing runs before ``execute`` and
    its like."""

    def __init__(self, node: l.Node, t_env: TableEnvironment, declared: LogicalSchema | None = None) -> None:
        """:param declared: the schema of a table of the catalog, of a descriptor or a stream; None: its
        columns are those of *node*, and nothing else is known of them."""
        self._node = node
        self._t_env = t_env
        self._declared = declared

    @property
    def _session(self) -> Any:
        return self._t_env._session

    def _with(self, node: l.Node) -> Table:
        return Table(node, self._t_env)

    def _of_same_schema(self, node: l.Node) -> Table:
        """Some of the rows, or all in another order: the schema stays what it is, as in Flink."""
        return Table(node, self._t_env, self._declared)

    @property
    def _schema(self) -> LogicalSchema:
        return self._declared or LogicalSchema.of(self._node.row)

    def __getattr__(self, name: str) -> Expression[Any]:
        node = self.__dict__.get("_node")
        if node is None or name not in node.row.names:
            names = [] if node is None else node.row.names
            raise AttributeError(
                f"The current table has no column named '{name}', available columns: [{', '.join(names)}]"
            )
        return Expression(tree.Column(name))

    def __str__(self) -> str:
        return self._t_env._name_of(self)

    def _repr_html_(self) -> str:
        from firesteel.table._notebook import table_html

        return table_html(self._session, self._node, self._t_env._zone())

    # ---- rows and columns

    def select(self, *fields: Expression[Any]) -> Table:
        """Some columns, or what is computed of them; aggregates make one row of all."""
        return self._with(plans.select(self._session, self._node, _trees(fields)))

    def alias(self, field: str, *fields: str) -> Table:
        """Other names of the columns."""
        return self._with(plans.renamed(self._node, (field, *fields)))

    def filter(self, predicate: Expression[bool]) -> Table:
        """The rows for which it holds."""
        return self._of_same_schema(plans.filtered(self._session, self._node, _tree(predicate)))

    def where(self, predicate: Expression[bool]) -> Table:
        """As ``filter``."""
        return self.filter(predicate)

    def add_columns(self, *fields: Expression[Any]) -> Table:
        """All columns, and some more."""
        return self._with(plans.add_columns(self._session, self._node, _trees(fields), replace=False))

    def add_or_replace_columns(self, *fields: Expression[Any]) -> Table:
        """All columns, and some more, in place of those of the same names."""
        return self._with(plans.add_columns(self._session, self._node, _trees(fields), replace=True))

    def rename_columns(self, *fields: Expression[Any]) -> Table:
        """Other names of some columns: ``col('a').alias('b')``."""
        return self._with(plans.rename_columns(self._node, _trees(fields)))

    def drop_columns(self, *fields: Expression[Any]) -> Table:
        """All columns but some."""
        return self._with(plans.drop_columns(self._node, _trees(fields)))

    def distinct(self) -> Table:
        """Each row once."""
        return self._of_same_schema(plans.distinct(self._node))

    # ---- groups and windows

    def group_by(self, *fields: Expression[Any]) -> GroupedTable:
        """Rows of equal values together."""
        return GroupedTable(self, _trees(fields))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Rows of a time, or a number of rows, together."""
        if not isinstance(window, GroupWindow):
            raise ProgramError(
                "window() takes a window with a name.", hint="Tumble.over(...).on(...).alias('w')"
            )
        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Windows of the rows around each row."""
        return OverWindowedTable(self, over_windows)

    # ---- two tables

    def join(self, right: Table, join_predicate: Expression[bool] | None = None) -> Table:
        """Pairs of rows for which the condition holds; it may be that of a ``where`` behind it, too."""
        return self._join(right, "INNER", join_predicate)

    def left_outer_join(self, right: Table, join_predicate: Expression[bool] | None = None) -> Table:
        """As ``join``; rows of this table without a pair have NULLs beside them."""
        return self._join(right, "LEFT", join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        """As ``join``; rows of the other table without a pair have NULLs beside them."""
        return self._join(right, "RIGHT", join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        """As ``join``; rows of both tables without a pair have NULLs beside them."""
        return self._join(right, "FULL", join_predicate)

    def _join(self, right: Table, kind: str, predicate: Any) -> Table:
        self._require_table(right)
        condition = None if predicate is None else tree_of(predicate)
        return self._with(plans.join(self._session, self._node, right._node, kind, condition))

    def join_lateral(self, table_function_call: Any, join_predicate: Expression[bool] | None = None) -> Table:
        """Each row with the rows that a table function gives for it."""
        return self._lateral(table_function_call, "INNER", join_predicate)

    def left_outer_join_lateral(
        self, table_function_call: Any, join_predicate: Expression[bool] | None = None
    ) -> Table:
        """As ``join_lateral``; rows for which there are none have NULLs beside them."""
        return self._lateral(table_function_call, "LEFT", join_predicate)

    def _lateral(self, call: Any, kind: str, predicate: Any) -> Table:
        condition = None if predicate is None else tree_of(predicate)
        return self._with(plans.lateral(self._session, self._node, _call_tree(call), kind, condition))

    def minus(self, right: Table) -> Table:
        """The rows that the other table does not have, each once."""
        return self._set(right, "EXCEPT", False)

    def minus_all(self, right: Table) -> Table:
        """The rows without as many equal ones as the other table has."""
        return self._set(right, "EXCEPT", True)

    def union(self, right: Table) -> Table:
        """The rows of both tables, each once."""
        return self._set(right, "UNION", False)

    def union_all(self, right: Table) -> Table:
        """The rows of both tables."""
        return self._set(right, "UNION", True)

    def intersect(self, right: Table) -> Table:
        """The rows that both tables have, each once."""
        return self._set(right, "INTERSECT", False)

    def intersect_all(self, right: Table) -> Table:
        """The rows that both tables have, as often as both have them."""
        return self._set(right, "INTERSECT", True)

    def _set(self, right: Table, kind: str, every: bool) -> Table:
        self._require_table(right)
        return self._with(plans.set_operation(self._node, right._node, kind, every))

    def _require_table(self, right: Any) -> None:
        if not isinstance(right, Table):
            raise ProgramError("Not a table.", detail=f"got {right!r}")
        if right._t_env is not self._t_env:
            raise ProgramError("Only tables from the same TableEnvironment can be joined.")

    # ---- order

    def order_by(self, *fields: Expression[Any]) -> Table:
        """The rows in order; in streaming mode by a time attribute first, or with ``fetch`` behind it."""
        return self._of_same_schema(plans.order_by(self._session, self._node, _trees(fields)))

    def offset(self, offset: int) -> Table:
        """Without the first rows."""
        return self._of_same_schema(plans.limit(self._node, offset=offset))

    def fetch(self, fetch: int) -> Table:
        """The first rows alone."""
        return self._of_same_schema(plans.limit(self._node, fetch=fetch))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """Some rows behind the first ones."""
        return self.offset(offset).fetch(fetch)

    # ---- functions of whole rows

    def map(self, func: Any) -> Table:
        """The row that a function gives for each row."""
        return self._with(plans.map_rows(self._session, self._node, _call_tree(func)))

    def flat_map(self, func: Any) -> Table:
        """The rows that a table function gives for each row."""
        return self._with(plans.flat_map(self._session, self._node, _call_tree(func)))

    def aggregate(self, func: Any) -> AggregatedTable:
        """The row that an aggregate function gives for all rows."""
        return AggregatedTable(self, [], func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """The rows that a table aggregate function gives for all rows."""
        return FlatAggregateTable(self, [], func)

    def to_changelog(self, *arguments: Expression[Any]) -> Table:
        """The changes of the table as rows, with their kind in the first column.

        :param arguments: ``descriptor("name").as_argument("op")``: the column, "op" by default;
            ``map_(kinds, code, ...).as_argument("op_mapping")``: codes of kinds, which may be several with
            commas between them; changes of other kinds are left out.
        """
        return self._with(changelogs.to_changelog(self._node, [tree_of(a) for a in arguments]))

    def from_changelog(self, *arguments: Expression[Any]) -> Table:
        """The table whose changes the rows are.

        :param arguments: ``descriptor("name").as_argument("op")``: the column of kinds, "op" by default;
            ``map_(codes, kind, ...).as_argument("op_mapping")``: kinds of codes, which may be several with
            commas between them; it fails at another code.
        """
        return self._with(changelogs.from_changelog(self._node, [tree_of(a) for a in arguments]))

    # ---- what it is

    def get_schema(self) -> TableSchema:
        """Its columns. Of a table of a name, a descriptor or a stream also what is declared of them:
        METADATA and computed columns, the watermark, the primary key."""
        return TableSchema._of(self._schema)

    def get_resolved_schema(self) -> ResolvedSchema:
        """As ``get_schema``, with the expressions of columns and watermarks."""
        from firesteel.table.catalog import ResolvedSchema

        return ResolvedSchema._of(self._schema)

    def print_schema(self) -> None:
        print(self.get_resolved_schema())

    def explain(self, *extra_details: ExplainDetail) -> str:
        """How it is computed: its syntax tree, the physical plan, the execution plan."""
        return self._t_env._explain([self._node], extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        print(self.explain(*extra_details))

    # ---- running

    def execute(self) -> TableResult:
        """Run the query, and give its rows as they come."""
        return self._t_env._execute_query(self._node)

    def to_pandas(self) -> Any:
        """Run the query, and give its final rows as a pandas DataFrame."""
        return self._t_env._to_pandas(self)

    def to_arrow(self) -> Any:
        """Run the query, and give its final rows as an Arrow table."""
        return self._t_env._to_arrow(self)

    def to_spark(self) -> Any:
        """Run the query, and give its rows as a DataFrame of Spark.

        They do not pass through the driver: tasks write them to files of columns.

        The query must end, and must give no rows that change later: in streaming mode aggregates without
        windows are refused, in batch mode they are not. A TIMESTAMP is a TIMESTAMP_NTZ of Spark's, a
        TIMESTAMP_LTZ a TIMESTAMP.
        """
        return self._t_env._to_spark(self)

    def execute_insert(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Write the rows to a table; starts the job."""
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def insert_into(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TablePipeline:
        """The way of the rows to a table; its ``execute`` starts the job."""
        from firesteel.table.table_pipeline import TablePipeline

        return TablePipeline(
            self._t_env._insert(self._node, table_path_or_descriptor, overwrite), self._t_env
        )


def _call_tree(call: Any) -> tree.Tree:
    """A call of a function; of a function alone, one for the whole row."""
    if isinstance(call, Expression):
        return tree_of(call)
    if not hasattr(call, "_whole_row"):
        raise ProgramError(
            "Not a function, and not the call of one.", detail=f"got {call!r}", hint="decorate it with udf"
        )
    return plans.whole_row_call(call)


class GroupedTable:
    """Rows of equal values together."""

    def __init__(self, table: Table, keys: list[tree.Tree]) -> None:
        self._table = table
        self._keys = keys

    def select(self, *fields: Expression[Any]) -> Table:
        """One row for each group."""
        table = self._table
        return table._with(plans.group_select(table._session, table._node, self._keys, _trees(fields)))

    def aggregate(self, func: Any) -> AggregatedTable:
        """The row that an aggregate function gives for each group."""
        return AggregatedTable(self._table, self._keys, func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """The rows that a table aggregate function gives for each group."""
        return FlatAggregateTable(self._table, self._keys, func)


class GroupWindowedTable:
    """A table with a window that is still to be grouped by."""

    def __init__(self, table: Table, window: GroupWindow) -> None:
        self._table = table
        self._window = window

    def group_by(self, *fields: Expression[Any]) -> WindowGroupedTable:
        """The window, by its name, and other columns."""
        return WindowGroupedTable(self._table, self._window, _trees(fields))


class WindowGroupedTable:
    """Rows of one window, and of equal values, together."""

    def __init__(self, table: Table, window: GroupWindow, keys: list[tree.Tree]) -> None:
        self._table = table
        self._window = window
        self._keys = keys

    def select(self, *fields: Expression[Any]) -> Table:
        """One row for each window and group."""
        table = self._table
        made = plans.window_select(
            table._session, table._node, self._window._parts, self._keys, _trees(fields)
        )
        return table._with(made)

    def aggregate(self, func: Any) -> AggregatedTable:
        """The row that an aggregate function gives for each window and group."""
        return AggregatedTable(self._table, self._keys, func, self._window)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """The rows that a table aggregate function gives for each window and group."""
        return FlatAggregateTable(self._table, self._keys, func, self._window)


class OverWindowedTable:
    """A table with windows of the rows around each row."""

    def __init__(self, table: Table, windows: tuple[OverWindow, ...]) -> None:
        self._table = table
        self._windows = windows

    def select(self, *fields: Expression[Any]) -> Table:
        """One row for each row."""
        table = self._table
        parts = {window._parts.alias: window._parts for window in self._windows}
        return table._with(plans.over_select(table._session, table._node, parts, _trees(fields)))


class AggregatedTable:
    """The rows of an aggregate function."""

    def __init__(
        self, table: Table, keys: list[tree.Tree], func: Any, window: GroupWindow | None = None
    ) -> None:
        self._table = table
        self._keys = keys
        self._call = _call_tree(func)
        self._window = window

    def select(self, *fields: Expression[Any]) -> Table:
        """Keys and fields of the result."""
        table = self._table
        window = None if self._window is None else self._window._parts
        made = plans.aggregate_rows(
            table._session, table._node, self._keys, self._call, window, _trees(fields)
        )
        return table._with(made)


class FlatAggregateTable:
    """The rows of a table aggregate function."""

    def __init__(
        self, table: Table, keys: list[tree.Tree], func: Any, window: GroupWindow | None = None
    ) -> None:
        self._table = table
        self._keys = keys
        self._call = _call_tree(func)
        self._window = window

    def select(self, *fields: Expression[Any]) -> Table:
        """Keys and fields of the rows."""
        table = self._table
        window = None if self._window is None else self._window._parts
        made = plans.flat_aggregate_rows(
            table._session, table._node, self._keys, self._call, window, _trees(fields)
        )
        return table._with(made)
