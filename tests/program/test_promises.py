"""Promises: what follows from both ends, and that every source and sink that is shipped is in the table."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import firesteel.connectors
from docs.drawing.guarantees import SINKS, SOURCES
from firesteel.program.promises import Guarantee, SinkPromise, SourcePromise, end_to_end
from firesteel.program.sinks import Sink
from firesteel.program.sources import Source
from firesteel.testing.connectors import SinkPromise as ShownSinkPromise


def shipped(base: type) -> Iterator[type]:
    for module in pkgutil.walk_packages(firesteel.connectors.__path__, "firesteel.connectors."):
        importlib.import_module(module.name)
    waiting = [base]
    while waiting:
        derived = waiting.pop().__subclasses__()
        waiting += derived
        yield from (kind for kind in derived if kind.__module__.startswith("firesteel.connectors."))


def name_of(kind: type) -> str:
    """A class with slots is made twice by its decorator, with one name."""
    return f"{kind.__module__}.{kind.__qualname__}"


@pytest.mark.parametrize(("base", "shown"), [(Source, SOURCES), (Sink, SINKS)])
def test_the_tables_have_all_that_is_shipped(base: type, shown: dict[str, tuple[object, ...]]) -> None:
    kinds = [type(one) for row in shown.values() for one in row]
    there = {name_of(kind) for given in kinds for kind in given.__mro__[: given.__mro__.index(base)]}
    missing = [kind for kind in shipped(base) if not there & {name_of(parent) for parent in kind.__mro__}]
    assert missing == []


def test_both_ends_exactly_once_make_it_so_with_checkpoints_only() -> None:
    ends = SourcePromise.EXACTLY_ONCE, SinkPromise.EXACTLY_ONCE
    assert end_to_end(*ends) is Guarantee.EXACTLY_ONCE
    assert end_to_end(*ends, checkpoints=False) is Guarantee.AT_LEAST_ONCE


@pytest.mark.row("S-SINK-19")
def test_the_whole_is_as_strong_as_its_weakest_part() -> None:
    for source in SourcePromise:
        for sink in SinkPromise:
            for checkpoints in (True, False):
                found = end_to_end(source, sink, checkpoints=checkpoints)
                assert found.may_lose == (source is SourcePromise.AT_MOST_ONCE or sink is SinkPromise.NONE)
                if source is SourcePromise.AT_LEAST_ONCE or sink is SinkPromise.AT_LEAST_ONCE:
                    assert found.may_repeat
                if found is Guarantee.EXACTLY_ONCE:
                    assert (source, sink) == (SourcePromise.EXACTLY_ONCE, SinkPromise.EXACTLY_ONCE)
                    assert checkpoints


def test_the_contract_of_sinks_knows_the_same_promises() -> None:
    assert ShownSinkPromise is SinkPromise


def test_the_page_has_what_each_source_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guarantees.md").read_text(encoding="utf-8")
    assert "| sockets | yes | at most once |" in page
    assert "| RabbitMQ, without | yes | at least once |" in page
