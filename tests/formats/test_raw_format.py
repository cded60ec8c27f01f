from __future__ import annotations

import pickle
from typing import Any

import pytest

from firesteel.common.errors import FiresteelError, TypeMismatchError, UnsupportedFeatureError
from firesteel.common.typeinfo import Types
from firesteel.datastream.formats.raw import RawFormatDeserializationSchema, RawFormatSerializationSchema

BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


@pytest.mark.parametrize(
    ("type_", "value", "big", "little"),
    [
        (Types.STRING(), "hé", "68c3a9", "68c3a9"),
        (BYTES, b"\0\xff", "00ff", "00ff"),
        (Types.BOOLEAN(), True, "01", "01"),
        (Types.BYTE(), -2, "fe", "fe"),
        (Types.SHORT(), 258, "0102", "0201"),
        (Types.INT(), -2, "fffffffe", "feffffff"),
        (Types.LONG(), 258, "0000000000000102", "0201000000000000"),
        (Types.FLOAT(), 1.5, "3fc00000", "0000c03f"),
        (Types.DOUBLE(), 1.5, "3ff8000000000000", "000000000000f83f"),
    ],
)
@pytest.mark.row("S-CONN-21")
def test_there_and_back(type_: Any, value: Any, big: str, little: str) -> None:
    for is_big, data in ((True, big), (False, little)):
        writing = pickle.loads(pickle.dumps(RawFormatSerializationSchema(type_, is_big_endian=is_big)))
        reading = pickle.loads(pickle.dumps(RawFormatDeserializationSchema(type_, is_big_endian=is_big)))
        assert writing.serialize(value).hex() == data
        assert reading.deserialize(bytes.fromhex(data)) == value
        assert reading.get_produced_type() == type_
        assert reading.deserialize(None) is None
        assert writing.serialize(None) is None


def test_charsets() -> None:
    assert RawFormatSerializationSchema(Types.STRING(), "ISO-8859-1").serialize("é☃") == b"\xe9?"
    assert RawFormatDeserializationSchema(Types.STRING(), "UTF-16BE").deserialize(b"\0a") == "a"
    assert RawFormatDeserializationSchema(Types.STRING()).deserialize(b"a\xff") == "a\ufffd"
    with pytest.raises(FiresteelError, match="no charset 'odd'"):
        RawFormatDeserializationSchema(Types.STRING(), "odd")


def test_what_does_not_fit() -> None:
    for data in (b"", b"abc", b"abcde"):
        with pytest.raises(FiresteelError, match=f"has 4 bytes, the message has {len(data)}"):
            RawFormatDeserializationSchema(Types.INT()).deserialize(data)
    for type_, value in ((Types.INT(), 2**31), (Types.INT(), "a"), (Types.STRING(), 1), (BYTES, "a")):
        with pytest.raises(TypeMismatchError, match="not a raw"):
            RawFormatSerializationSchema(type_).serialize(value)
    for type_ in (Types.SQL_DATE(), Types.ROW([Types.INT()])):
        with pytest.raises(UnsupportedFeatureError):
            RawFormatDeserializationSchema(type_)
