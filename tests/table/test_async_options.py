"""table.exec.async-scalar.*: how asynchronous scalar functions are called."""

from __future__ import annotations

import asyncio

import pytest

from firesteel.sql.async_options import AsyncScalarOptions
from firesteel.table import DataTypes, EnvironmentSettings, TableEnvironment
from firesteel.table._function_calls import AsyncCall
from firesteel.table.udf import udf
from firesteel.testing import MiniCluster


class Calls:
    """Fails the first *failures* times for each row, and counts how many are under way."""

    def __init__(self, failures=0, sleep_s=0.0):
        self.failures, self.sleep_s = failures, sleep_s
        self.tries, self.now, self.most = {}, 0, 0

    async def __call__(self, value):
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.sleep_s)
            self.tries[value] = self.tries.get(value, 0) + 1
            if self.tries[value] <= self.failures:
                raise ValueError(f"{value} fails")
            return value
        finally:
            self.now -= 1


def run(calls, **options):
    call = AsyncCall(calls, None).with_options(AsyncScalarOptions(delay_ms=0, **options))
    return asyncio.run(call._all(calls, [(i,) for i in range(6)]))


def test_so_many_calls_are_under_way():
    calls = Calls(sleep_s=0.001)
    assert run(calls, capacity=2) == [0, 1, 2, 3, 4, 5]
    assert calls.most == 2


def test_a_call_is_tried_so_often():
    assert run(Calls(failures=2), retries=2) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="fails"):
        run(Calls(failures=2), retries=1)


def test_a_call_that_takes_too_long_fails():
    with pytest.raises(TimeoutError):
        run(Calls(sleep_s=5), retries=0, timeout_ms=10)


@udf(result_type=DataTypes.BIGINT())
async def never_twice(value: int) -> int:
    raise ValueError("tried once")


@pytest.mark.row("S-SQL-23")
def test_options_of_a_program_get_to_its_calls():
    with MiniCluster.in_process():
        env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        env.get_config().set("table.exec.async-scalar.retry-strategy", "NO_RETRY")
        env.get_config().set("table.exec.async-scalar.max-concurrent-operations", "3")
        env.create_temporary_function("never_twice", never_twice)
        table = env.sql_query("SELECT never_twice(CAST(1 AS BIGINT))")
        plan = env._session.physical(table._node)
        made = env._session.translator(plan).translate(plan)
        (definition,) = made.operator.functions.values()
        assert definition.columns.options == AsyncScalarOptions(capacity=3, retries=0)
