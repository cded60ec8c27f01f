"""Nodes that change how a changelog says its updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.program.transformations import Transformation
from firesteel.sql import physical as p
from firesteel.sql.operators import specs

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = ["drop_update_before", "normalize"]


def drop_update_before(run: Translator, node: p.DropUpdateBefore) -> Transformation:
    return run.one(node, specs.DropUpdateBefore(input=node.input.row))


def normalize(run: Translator, node: p.ChangelogNormalize) -> Transformation:
    spec = specs.ChangelogNormalize(
        input=node.input.row,
        keys=node.key,
        in_time=node.in_time,
        generate_update_before=node.sends_old_rows,
        condition=node.condition,
        mini_batch=node.mini_batch,
        bundle=run.bundle,
        ttl_ms=node.ttl_ms,
        functions=run.functions([node.condition]),
    )
    return run.one(node, spec, keys=node.key)
