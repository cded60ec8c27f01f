"""A gate: the channels that feed one input of the head of a chain, merged into one stream of batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from firesteel.runtime.batch import Batch
from firesteel.runtime.user_code import UserCode
from firesteel.runtime.valve import WatermarkValve
from firesteel.runtime.wire import Body, decode_batch

if TYPE_CHECKING:
    import pyarrow as pa


class Gate:
    """Buffers of a channel come in order; their marks go through the watermark valve.

    :param schema: of the columns that come; None: objects come.
    """

    __slots__ = ("_channels", "_consume", "_decode", "_user_code", "_valve", "bytes", "received")

    def __init__(
        self,
        channels: Sequence[int],
        consume: Callable[[Batch], None],
        user_code: UserCode,
        schema: pa.Schema | None = None,
    ) -> None:
        self._decode = decode_batch if schema is None else _decoder(schema)
        self._channels = tuple(channels)
        self._valve = WatermarkValve(self._channels)
        self._consume = consume
        self._user_code = user_code
        self.received = dict.fromkeys(self._channels, 0)  # records in this epoch
        self.bytes = 0  # of the buffers of this epoch

    def decode(self, body: Body) -> Batch:
        """Read a buffer; its records may be objects of the user's classes."""
        self.bytes += len(body)
        try:
            return self._decode(bytes(body))
        except BaseException as e:
            self._user_code.fail(e)

    def receive(self, channel: int, batch: Batch) -> None:
        self.received[channel] += len(batch.values)
        marks = batch.marks
        if marks:
            merged = self._valve.feed_all(channel, marks)
            if not batch.values and not merged:
                return
            batch = Batch(batch.values, batch.timestamps, merged, batch.keys)
        try:
            self._consume(batch)
        except BaseException as e:
            self._user_code.fail(e)

    @property
    def is_ended(self) -> bool:
        return self._valve.is_ended

    def snapshot(self) -> Any:
        return self._valve.snapshot()

    def restore(self, carry: Any) -> None:
        self._valve = WatermarkValve(self._channels)
        self.received = dict.fromkeys(self._channels, 0)
        self.bytes = 0
        if carry is not None:
            self._valve.restore(carry)


def _decoder(schema: pa.Schema) -> Callable[[bytes], Batch]:
    from firesteel.runtime.column_wire import decode_columns  # with it comes Arrow, which others do not need

    return lambda body: decode_columns(body, schema)
