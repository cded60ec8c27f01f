"""Keys made of columns: routers hash columns, state has single keys; both must find the same key group."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
from hypothesis import given, strategies as st

from firesteel.state._column import GroupKeys
from firesteel.state.column_keys import (
    canonical_column_keys,
    column_groups,
    group_rows,
    hash_codes,
    identities,
    identity_of_canonical,
    key_arrays,
)
from firesteel.state.keys import group_of_canonical, key_group, raw_key

VALUES = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int16(): st.integers(-5, 5),
    pa.string(): st.text(max_size=4),
    pa.binary(): st.binary(max_size=4),
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats(allow_nan=False),
    pa.decimal128(20, 2): st.integers(-(10**17), 10**17).map(lambda n: Decimal(n).scaleb(-2)),
    pa.timestamp("ms"): st.datetimes(dt.datetime(1900, 1, 1)).map(lambda d: d.replace(microsecond=0)),
    pa.date32(): st.dates(),
    pa.list_(pa.int64()): st.lists(st.integers(0, 3), max_size=2),
}


@st.composite
def key_columns(draw):
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), max_size=3))
    length = draw(st.integers(1, 8))
    few = [draw(st.lists(st.none() | VALUES[k], min_size=1, max_size=3)) for k in kinds]
    picks = [draw(st.lists(st.sampled_from(values), min_size=length, max_size=length)) for values in few]
    return [pa.array(values, kind) for values, kind in zip(picks, kinds, strict=True)], length


@given(key_columns())
def test_columns_and_single_keys_agree(given_keys):
    arrays, length = given_keys
    codes = hash_codes(arrays, length)
    found = identities(arrays, length)
    canonical = canonical_column_keys(found, codes)
    assert [group_of_canonical(key, 128) for key in canonical] == column_groups(codes, 128).tolist()
    assert [identity_of_canonical(key) for key in canonical] == found
    rows = list(zip(*(a.to_pylist() for a in arrays), strict=True)) if arrays else [()] * length
    back = key_arrays(found, [a.type for a in arrays])
    assert (list(zip(*(a.to_pylist() for a in back), strict=True)) if arrays else rows) == rows
    groups = group_rows(arrays, length)
    for i in range(length):
        for j in range(length):
            assert (groups.codes[i] == groups.codes[j]) == (found[i] == found[j])
    order, starts = groups.order()
    assert groups.first.tolist() == [order[s] for s in starts]
    for key in canonical:
        raw_key(key)


@given(key_columns())
def test_keys_that_are_learned_as_columns_are_those_that_are_asked_for_one_by_one(given_keys):
    arrays, length = given_keys
    codes = hash_codes(arrays, length)
    keys = canonical_column_keys(identities(arrays, length), codes)
    learned, asked = (GroupKeys(128, range(128)) for _ in range(2))
    learned.learn(keys, codes)
    assert dict(learned) == {key: asked[key] for key in keys}


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 9), min_size=1))
def test_numbers_have_the_key_group_of_flink(numbers):
    codes = hash_codes([pa.array(numbers, pa.int64())], len(numbers))
    assert column_groups(codes, 4096).tolist() == [key_group(n, 4096) for n in numbers]


@given(st.lists(st.text(max_size=70), min_size=1))
def test_text_has_the_key_group_of_flink(texts):
    array = pa.array(["", *texts], pa.string())[1:]
    codes = hash_codes([array], len(texts))
    assert column_groups(codes, 4096).tolist() == [key_group(text, 4096) for text in texts]


def test_hash_codes_never_change():
    """State is found by them after a restore."""
    numbers, texts = pa.array([1, None, 3], pa.int64()), pa.array(["a", "b", None], pa.string())
    codes = hash_codes([numbers, texts], 3)
    assert codes.tolist() == [1089, 683131274, 2654436823]
    assert column_groups(codes, 128).tolist() == [110, 78, 99]
    assert hash_codes([pa.array([1.5, None, -0.0])], 3).tolist() == [1073217536, 2654435769, 2147483648]
    prices = pa.array([Decimal("1.50"), None], pa.decimal128(5, 2))
    assert hash_codes([prices, pa.array([b"x", b""])], 2).tolist() == [5731, 683131176]
