"""The dead letters of a source: records that it cannot read, as a stream.

>>> from firesteel.datastream.bad_records import BAD_RECORDS
>>> orders = env.from_source(source, watermarks, "orders")                   # doctest: +SKIP
>>> orders.get_side_output(BAD_RECORDS).map(lambda bad: bad.origin).print()  # doctest: +SKIP

A program that reads this side output of a source goes on behind a record that cannot be read; in one that
does not, the first such record fails the job.
"""

from __future__ import annotations

from firesteel.program.bad_records import SIDE_OUTPUT, BadRecord
from firesteel.program.output_tag import OutputTag

__all__ = ["BAD_RECORDS", "BadRecord"]

#: The side output of each source; its records are ``BadRecord``.
BAD_RECORDS = OutputTag(SIDE_OUTPUT)
