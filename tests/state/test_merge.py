from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, strategies as st

from firesteel.state._merge import Slice, merged, without_tombstones
from firesteel.state._value_codec import TOMBSTONE

LAYERS = st.lists(
    st.dictionaries(st.binary(min_size=1, max_size=2), st.sampled_from([b"1", b"2", TOMBSTONE])), max_size=4
)


def slices(entries: dict[bytes, bytes], size: int, asked: list[int]) -> Iterator[Slice]:
    keys = sorted(entries)
    for at in range(0, len(keys), size):
        asked[0] += 1
        yield keys[at : at + size], [entries[key] for key in keys[at : at + size]]


@given(LAYERS, st.integers(1, 5))
def test_the_newest_layer_wins_and_the_order_holds(layers: list[dict[bytes, bytes]], size: int) -> None:
    expected: dict[bytes, bytes] = {}
    for layer in layers:
        expected.update(layer)
    found = [e for s in merged([slices(x, size, [0]) for x in layers]) for e in zip(*s, strict=True)]
    assert found == sorted(expected.items())
    alive = without_tombstones(merged([slices(x, size, [0]) for x in layers]))
    assert [e for s in alive for e in zip(*s, strict=True)] == [
        e for e in sorted(expected.items()) if e[1] != TOMBSTONE
    ]


def test_no_more_is_read_than_is_asked_for() -> None:
    asked = [0]
    layers = [{bytes((0, n)): b"1" for n in range(start, 200, 3)} for start in range(3)]
    stream = merged([slices(layer, 4, asked) for layer in layers])
    next(stream)
    assert asked[0] == 3  # one slice of each
    next(stream)
    assert asked[0] <= 6
