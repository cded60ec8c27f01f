"""A job with keyed state and a local store; SECONDS: how long it takes, about."""

from __future__ import annotations

import sys
import threading

from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment

RECORDS = 200


def main(seconds: float) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    def slow(value: int) -> int:
        threading.Event().wait(seconds / RECORDS)
        return value

    env.from_sequence(1, RECORDS).map(slow, Types.LONG()).key_by(lambda v: v % 3).sum().print()
    env.execute("leaves")


if __name__ == "__main__":
    main(float(sys.argv[1]))
