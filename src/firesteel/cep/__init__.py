"""Patterns of events in streams (Flink: ``flink-cep``). See ``docs/cep.md``.

>>> from firesteel.cep import CEP, Pattern
>>> from firesteel.common import Time
>>> pattern = (
...     Pattern.begin("high").where(lambda t: t["amount"] > 5000)
...     .followed_by("foreign").where(lambda t: not t["home"])
...     .within(Time.minutes(10))
... )
"""

from __future__ import annotations

from firesteel.cep.conditions import IterativeCondition, RichIterativeCondition, SimpleCondition
from firesteel.cep.errors import MalformedPatternError, SkipError, TooManyPartialMatchesError
from firesteel.cep.functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from firesteel.cep.pattern import GroupPattern, Pattern, WithinType
from firesteel.cep.pattern_json import RefusedPattern
from firesteel.cep.quantifier import ConsumingStrategy, Quantifier, QuantifierProperty
from firesteel.cep.skip_strategy import AfterMatchSkipStrategy
from firesteel.cep.streams import CEP, DynamicPatternStream, PatternStream

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "ConsumingStrategy",
    "DynamicPatternStream",
    "GroupPattern",
    "IterativeCondition",
    "MalformedPatternError",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "Quantifier",
    "QuantifierProperty",
    "RefusedPattern",
    "RichIterativeCondition",
    "SimpleCondition",
    "SkipError",
    "TimedOutPartialMatchHandler",
    "TooManyPartialMatchesError",
    "WithinType",
]
