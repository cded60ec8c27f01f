"""A delta in a file of its own has the bytes that one in the answer of a task has."""

from __future__ import annotations

from hypothesis import example, given, strategies as st

from firesteel.state.delta_writer import DeltaWriter, in_order
from firesteel.state.files import MemoryStateFiles

# Few different bytes at the beginning: many keys begin alike. Some are shorter than what is compared
# as a number.
KEYS = st.lists(
    st.binary(min_size=2, max_size=12)
    | st.builds(bytes.__add__, st.just(b"\0\1\x0bh\xff\xff"), st.binary(max_size=9)),
    unique=True,
    min_size=1,
)


@given(KEYS)
@example([b"\xff" * 9, b"\xff" * 8, b"\0" * 9, b"\0" * 2])
def test_the_order_of_keys_is_that_of_their_bytes(keys: list[bytes]) -> None:
    assert [keys[i] for i in in_order(keys)] == sorted(keys)


@given(KEYS)
def test_a_file_has_the_bytes_of_an_answer(keys: list[bytes]) -> None:
    files = MemoryStateFiles()
    writer = DeltaWriter(files, "job/state", ())
    changes = {key: key * 2 for key in keys}
    inline, written = writer.in_answer(changes), writer.in_file(changes)
    assert written.run is not None
    assert (written.digest, written.entries) == (inline.digest, inline.entries)
    assert (written.first_group, written.last_group) == (inline.first_group, inline.last_group)
    assert files.read(written.run.path, 0, written.run.length) == inline.payload
