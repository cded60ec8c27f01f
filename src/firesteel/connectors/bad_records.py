"""Records of a source that cannot be read: how a reader reports them, and what it says about them."""

from __future__ import annotations

from firesteel.program.bad_records import (
    SIDE_OUTPUT,
    BadRecord,
    Decoded,
    MessageDecoder,
    bad_record,
    message_decoder,
)

__all__ = ["SIDE_OUTPUT", "BadRecord", "Decoded", "MessageDecoder", "bad_record", "message_decoder"]
