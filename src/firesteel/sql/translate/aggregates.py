"""GROUP BY and OVER."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.program.transformations import Transformation
from firesteel.sql import physical as p
from firesteel.sql.operators import specs

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = ["global_group_aggregate", "group_aggregate", "local_group_aggregate", "over"]


def group_aggregate(run: Translator, node: p.GroupAggregate) -> Transformation:
    functions = run.functions(calls=node.calls)
    common: dict[str, Any] = {
        "input": node.input.row,
        "keys": node.group,
        "retracts": not node.input.is_insert_only,
        "functions": functions,
    }
    if node.table_function:
        return run.one(
            node,
            specs.GroupTableAggregate(
                output=node.row,
                call=node.calls[0],
                generate_update_before=node.sends_old_rows,
                ttl_ms=node.ttl_ms,
                **common,
            ),
            keys=node.group,
        )
    spec = specs.GroupAggregate(
        output=node.row,
        calls=node.calls,
        generate_update_before=node.sends_old_rows,
        mini_batch=node.mini_batch,
        bundle=run.bundle,
        ttl_ms=node.ttl_ms,
        **common,
    )
    return run.one(node, spec, keys=node.group)


def local_group_aggregate(run: Translator, node: p.LocalGroupAggregate) -> Transformation:
    spec = specs.LocalGroupAggregate(
        input=node.input.row,
        output=node.row,
        keys=node.group,
        calls=node.calls,
        retracts=not node.input.is_insert_only,
        bundle=run.bundle,
        functions=run.functions(calls=node.calls),
    )
    return run.one(node, spec)


def global_group_aggregate(run: Translator, node: p.GlobalGroupAggregate) -> Transformation:
    local = node.local
    keys = tuple(range(len(local.group)))
    spec = specs.GlobalGroupAggregate(
        input=node.input.row,
        output=node.row,
        keys=keys,
        rows=local.input.row,
        row_keys=local.group,
        calls=local.calls,
        retracts=not local.input.is_insert_only,
        generate_update_before=node.sends_old_rows,
        bundle=run.bundle,
        ttl_ms=node.ttl_ms,
        functions=run.functions(calls=local.calls),
    )
    return run.one(node, spec, keys=keys)


def over(run: Translator, node: p.OverAggregate) -> Transformation:
    first = node.calls[0]
    calls = tuple(over.call for over in node.calls)
    spec = specs.OverAggregate(
        input=node.input.row,
        output=node.row,
        keys=first.partition,
        calls=calls,
        order=first.order,
        time=first.order[0].index if node.time is not None else None,
        event_time=node.time == "rowtime",
        rows=first.rows,
        preceding=first.preceding,
        following=first.following,
        retracts=not node.input.is_insert_only,
        generate_update_before=node.sends_old_rows,
        ttl_ms=node.ttl_ms,
        functions=run.functions(calls=calls),
    )
    return run.one(node, spec, keys=first.partition)
