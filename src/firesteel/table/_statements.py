"""Statements executed: one function for each class of ``sql/parser/statements.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.sql import types as t
from firesteel.sql.binder.inserts import bind_insert
from firesteel.sql.parser import statements as s
from firesteel.sql.parser.statement_parser import parse_statement
from firesteel.table import _definitions as definitions, _running as running, _showing as showing
from firesteel.table._analyzing import analyze
from firesteel.table._collections import ok, rows_result
from firesteel.table._jobs import stop_job
from firesteel.table.explain_detail import ExplainDetail
from firesteel.table.table_result import TableResult

__all__ = ["execute_statement", "explained", "insert_of"]

Executor = Callable[[Any, Any, str], TableResult]


def execute_statement(env: Any, sql: str) -> TableResult:
    """Run the statement of a text."""
    statement = parse_statement(sql)
    executor = _EXECUTORS.get(type(statement))
    if executor is None:
        raise UnsupportedFeatureError(
            f"The statement {type(statement).__name__} is not available.", detail=sql
        )
    return executor(env, statement, sql)


def _query(env: Any, statement: s.Query, sql: str) -> TableResult:
    result: TableResult = env._execute_query(env._session.binder(sql).bind_query(statement.tree), sql)
    return result


# ---- INSERT


def _sink(env: Any, statement: s.Insert, sql: str) -> Any:
    sink = running.targeted(env._session, bind_insert(env._session.binder(sql), statement))
    return replace(sink, statement=sql)


def insert_of(env: Any, sql: str) -> Any:
    """The plan of an INSERT."""
    statement = parse_statement(sql)
    if not isinstance(statement, s.Insert):
        raise ProgramError("Only insert statement is supported now.", detail=sql)
    return _sink(env, statement, sql)


def _insert(env: Any, statement: s.Insert, sql: str) -> TableResult:
    if env._session.statement_set is not None:
        env._session.statement_set.append(_sink(env, statement, sql))
        return ok(env)
    result: TableResult = env._execute_sinks([_sink(env, statement, sql)])
    return result


def _statement_set(env: Any, statement: s.StatementSet, sql: str) -> TableResult:
    result: TableResult = env._execute_sinks([_sink(env, insert, sql) for insert in statement.inserts])
    return result


def _begin(env: Any, statement: s.BeginStatementSet, sql: str) -> TableResult:
    if env._session.statement_set is not None:
        raise ProgramError("A statement set has begun already.", hint="END it first")
    env._session.statement_set = []
    return ok(env)


def _end(env: Any, statement: s.EndStatementSet, sql: str) -> TableResult:
    sinks = env._session.statement_set
    if sinks is None:
        raise ProgramError("No statement set has begun.", hint="BEGIN STATEMENT SET;")
    env._session.statement_set = None
    result: TableResult = env._execute_sinks(sinks) if sinks else ok(env)
    return result


# ---- EXPLAIN


def _nodes(env: Any, statement: Any, sql: str) -> list[Any]:
    if isinstance(statement, s.Query):
        return [env._session.binder(sql).bind_query(statement.tree)]
    if isinstance(statement, s.Insert):
        return [_sink(env, statement, sql)]
    if isinstance(statement, s.StatementSet):
        return [_sink(env, insert, sql) for insert in statement.inserts]
    if isinstance(statement, s.CreateTable) and statement.query is not None:
        return [env._session.binder(sql).bind_query(statement.query.tree)]
    raise UnsupportedFeatureError("Only a query, INSERT and STATEMENT SET are explained.", detail=sql)


def explained(env: Any, sql: str, details: Sequence[ExplainDetail]) -> str:
    statement = parse_statement(sql)
    if isinstance(statement, s.Explain):
        details = [*details, *(ExplainDetail[d] for d in statement.details)]
        statement = statement.statement
    text: str = env._explain(_nodes(env, statement, sql), details)
    return text


def _explain(env: Any, statement: s.Explain, sql: str) -> TableResult:
    details = [ExplainDetail[d] for d in statement.details]
    text = env._explain(_nodes(env, statement.statement, sql), details)
    row = t.RowType.of(["result"], [t.VarCharType()])
    return rows_result(env, row, [(text,)], plain=True)


# ---- options


def _set(env: Any, statement: s.SetOption, sql: str) -> TableResult:
    configuration = env._session.configuration
    if statement.key is None:
        row = t.RowType.of(["key", "value"], [t.VarCharType(nullable=False), t.VarCharType(nullable=False)])
        from firesteel.common.masking import shown_settings

        return rows_result(env, row, list(shown_settings(configuration.to_dict())))
    from firesteel.common.options.checks import check

    before = configuration.get_string(statement.key, None)
    configuration.set_string(statement.key, statement.value or "")
    try:
        check(configuration)
    except BaseException:
        if before is None:
            configuration.remove_config(statement.key)
        else:
            configuration.set_string(statement.key, before)
        raise
    return ok(env)


def _reset(env: Any, statement: s.Reset, sql: str) -> TableResult:
    configuration = env._session.configuration
    keys = [statement.key] if statement.key is not None else list(configuration.key_set())
    for key in keys:
        configuration.remove_config(key)
    if statement.key is None:
        configuration.add_all(env._session.initial)
    elif env._session.initial.contains_key(statement.key):
        configuration.set_string(statement.key, env._session.initial.get_string(statement.key, ""))
    return ok(env)


# ---- others


def _jar(env: Any, statement: s.Jar, sql: str) -> TableResult:
    raise UnsupportedFeatureError(
        f"{statement.action} JAR is not available.",
        detail=statement.path,
        hint="connectors and formats are Python packages here; functions are written in Python",
    )


def _compile(env: Any, statement: s.CompilePlan, sql: str) -> TableResult:
    from firesteel.table.compiled_plan import CompiledPlan

    inner = statement.statement
    inserts = inner.inserts if isinstance(inner, s.StatementSet) else (inner,)
    plan = CompiledPlan._of_statement(env, inner, [_sink(env, i, sql) for i in inserts], sql)
    plan.write_to_file(statement.path, statement.if_not_exists)
    return plan.execute() if statement.execute else ok(env)


def _execute_plan(env: Any, statement: s.ExecutePlan, sql: str) -> TableResult:
    from firesteel.table.plan_reference import PlanReference

    result: TableResult = env.execute_plan(PlanReference.from_file(statement.path))
    return result


def _refused(what: str, hint: str) -> Executor:
    def refuse(env: Any, statement: Any, sql: str) -> TableResult:
        raise UnsupportedFeatureError(f"{what} is not available.", detail=sql, hint=hint)

    return refuse


_EXECUTORS: Final[dict[type[Any], Executor]] = {
    s.Query: _query,
    s.Insert: _insert,
    s.StatementSet: _statement_set,
    s.BeginStatementSet: _begin,
    s.EndStatementSet: _end,
    s.Explain: _explain,
    s.SetOption: _set,
    s.Reset: _reset,
    s.Jar: _jar,
    s.CompilePlan: _compile,
    s.ExecutePlan: _execute_plan,
    s.Show: showing.show,
    s.Describe: showing.describe,
    s.Delete: _refused(
        "DELETE", "no connector deletes rows of a table; write -D rows by a query with a primary key"
    ),
    s.Update: _refused(
        "UPDATE", "no connector changes rows of a table; write them by INSERT with a primary key"
    ),
    s.Truncate: _refused("TRUNCATE TABLE", "no connector empties a table; use INSERT OVERWRITE"),
    s.AnalyzeTable: analyze,
    s.CallProcedure: _refused("CALL", "catalogs have no procedures here"),
    s.StopJob: stop_job,
    **definitions.EXECUTORS,
}
