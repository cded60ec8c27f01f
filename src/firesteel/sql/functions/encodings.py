"""Hashes, character sets, base64, hexadecimal text, URLs and network addresses."""

from __future__ import annotations

import base64
import codecs
import hashlib
import re
import urllib.parse
from collections.abc import Callable
from typing import Final

from firesteel.sql import types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.rules import (
    AS_INT,
    BIGINT,
    BINARY,
    BYTES,
    INT,
    INTEGER,
    STRING,
    TEXT,
    TEXT_OR_BINARY,
    any_of,
    nullable,
    optional,
    strict,
    takes,
)


def _bytes(value: str | bytes) -> bytes:
    return value.encode("utf-8", "replace") if isinstance(value, str) else value


# ---- hashes


def _digest(name: str) -> Callable[..., str]:
    make = getattr(hashlib, name)
    return lambda site, value: make(_bytes(value)).hexdigest()


for _name, _algorithm, _length in (
    ("MD5", "md5", 32),
    ("SHA1", "sha1", 40),
    ("SHA224", "sha224", 56),
    ("SHA256", "sha256", 64),
    ("SHA384", "sha384", 96),
    ("SHA512", "sha512", 128),
):
    scalar(
        _name,
        takes(TEXT_OR_BINARY, result=strict(t.CharType(length=_length))),
        value=_digest(_algorithm),
        doc=f"The {_name} digest as hexadecimal text.",
        example=f"{_name}('flink')",
    )

_SHA2: Final = {224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def _sha2(_: CallSite, value: str | bytes, bits: int) -> str:
    if bits not in _SHA2:
        raise ValueError(f"Unsupported algorithm: SHA-{bits}")
    return str(getattr(hashlib, _SHA2[bits])(_bytes(value)).hexdigest())


scalar(
    "SHA2",
    takes(TEXT_OR_BINARY, AS_INT, result=strict(t.VarCharType(length=128))),
    value=_sha2,
    doc="The digest of SHA-224, 256, 384 or 512 as hexadecimal text.",
    example="SHA2('flink', 256)",
)


def _hash_code(_: CallSite, text: str) -> int:
    """Java's ``String.hashCode``."""
    found = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for i in range(0, len(units), 2):
        found = (31 * found + (units[i] << 8 | units[i + 1])) & 0xFFFFFFFF
    return found - (1 << 32) if found >> 31 else found


scalar(
    "HASH_CODE",
    takes(TEXT, result=strict(INT)),
    value=_hash_code,
    doc="Java's hash code of a text.",
    example="HASH_CODE('abc')",
)


# ---- character sets and base64


def _charset(name: str) -> str:
    try:
        found = codecs.lookup({"UTF-16": "utf-16-be"}.get(name.upper(), name)).name
    except LookupError:
        raise ValueError(f"Unsupported charset: {name}") from None
    return found


def _encode(_: CallSite, text: str, charset: str) -> bytes:
    encoded = text.encode(_charset(charset), "replace")
    return b"\xfe\xff" + encoded if charset.upper() == "UTF-16" else encoded


def _decode(_: CallSite, data: bytes, charset: str) -> str:
    if charset.upper() == "UTF-16":
        return data.decode("utf-16-be" if data[:2] not in (b"\xff\xfe", b"\xfe\xff") else "utf-16", "replace")
    return data.decode(_charset(charset), "replace")


scalar(
    "ENCODE",
    takes(TEXT, TEXT, result=strict(BYTES)),
    value=_encode,
    doc="The bytes of a text in a character set.",
    example="ENCODE('flink', 'UTF-8')",
)
scalar(
    "DECODE",
    takes(BINARY, TEXT, result=strict(STRING)),
    value=_decode,
    doc="The text of bytes in a character set.",
    example="DECODE(x'666c696e6b', 'UTF-8')",
)


def _from_base64(_: CallSite, text: str | bytes) -> str:
    data = _bytes(text)
    bad = re.search(rb"[^A-Za-z0-9+/=]", data)
    if bad is not None:
        raise ValueError(f"Illegal base64 character {bad[0][0]:x}")
    return base64.b64decode(data.rstrip(b"=") + b"=" * (-len(data.rstrip(b"=")) % 4)).decode(
        "utf-8", "replace"
    )


scalar(
    "TO_BASE64",
    takes(TEXT_OR_BINARY, result=strict(STRING)),
    value=lambda site, s: base64.b64encode(_bytes(s)).decode("ascii"),
    doc="The text in base64.",
    example="TO_BASE64('hello')",
)
scalar(
    "FROM_BASE64",
    takes(TEXT_OR_BINARY, result=strict(STRING)),
    value=_from_base64,
    doc="The text that base64 stands for.",
    example="FROM_BASE64('aGVsbG8=')",
)


# ---- hexadecimal and binary text

_LONG: Final = (1 << 64) - 1


def _hex(_: CallSite, value: int | str) -> str:
    return f"{value & _LONG:X}" if isinstance(value, int) else _bytes(value).hex().upper()


def _unhex(_: CallSite, text: str) -> bytes | None:
    """A digit alone at the beginning counts as 0, as in Flink."""
    data = _bytes(text)
    if re.fullmatch(rb"[0-9A-Fa-f]*", data) is None:
        return None
    whole = b"00" + data[1:] if len(data) % 2 else data
    return bytes.fromhex(whole.decode("ascii"))


scalar(
    "HEX",
    takes(any_of(INTEGER, TEXT), result=strict(STRING)),
    value=_hex,
    doc="A whole number, or the bytes of a text, in hexadecimal.",
    example="HEX('flink')",
)
scalar(
    "UNHEX",
    takes(TEXT, result=nullable(BYTES)),
    value=_unhex,
    doc="The bytes that hexadecimal text stands for; NULL: it is none.",
    example="UNHEX('666C')",
)
scalar(
    "BIN",
    takes(INTEGER, result=strict(STRING)),
    value=lambda site, n: f"{n & _LONG:b}",
    doc="A whole number in binary.",
    example="BIN(10)",
)


# ---- URLs


def _url_encode(_: CallSite, text: str) -> str:
    return urllib.parse.quote_plus(text, safe="*").replace("~", "%7E")


_BAD_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


def _url_decode(_: CallSite, text: str) -> str | None:
    return None if _BAD_PERCENT.search(text) else urllib.parse.unquote_plus(text, errors="replace")


scalar(
    "URL_ENCODE",
    takes(TEXT, result=nullable(STRING)),
    value=_url_encode,
    doc="The text in the form of parameters of URLs.",
    example="URL_ENCODE('a b&c')",
)
scalar(
    "URL_DECODE",
    takes(TEXT, result=nullable(STRING)),
    value=_url_decode,
    doc="The text of a parameter of a URL; NULL: it is not well-formed.",
    example="URL_DECODE('a+b%26c')",
)

_URL: Final = re.compile(
    r"(?P<PROTOCOL>[A-Za-z][A-Za-z0-9+.\-]*):(?://(?P<AUTHORITY>[^/?#]*))?"
    r"(?P<PATH>[^?#]*)(?:\?(?P<QUERY>[^#]*))?(?:#(?P<REF>.*))?",
    re.DOTALL,
)


#: what Java takes off the ends
_BLANKS: Final = "".join(map(chr, range(33)))
#: those that ``java.net.URL`` knows
_PROTOCOLS: Final = {"http", "https", "ftp", "file", "jar", "mailto", "jmod", "jrt"}


def _parse_url(_: CallSite, url: str, part: str, key: str | None = None) -> str | None:
    match = _URL.fullmatch(re.sub(r"(?i)^url:", "", url.strip(_BLANKS)))
    if match is None or match["PROTOCOL"].lower() not in _PROTOCOLS or (key is not None and part != "QUERY"):
        return None
    authority, query = match["AUTHORITY"], match["QUERY"]
    user, _at, host = (authority or "").rpartition("@")
    port = re.search(r":([^:\]]*)$", host)
    if port is not None and re.fullmatch(r"|-1|\+?[0-9]{1,9}", port[1]) is None:
        return None
    if key is not None:
        found = re.search(rf"(?:^|&){re.escape(key)}=([^&]*)", query or "")
        return None if found is None else found[1]
    if part == "HOST":
        return host[: port.start()] if port is not None else host if authority is not None else None
    if part == "USERINFO":
        return user or None
    if part == "FILE":
        return match["PATH"] + (f"?{query}" if query is not None else "")
    if part == "PROTOCOL":
        return match[part].lower()
    return match[part] if part in ("AUTHORITY", "PATH", "QUERY", "REF") else None


scalar(
    "PARSE_URL",
    takes(TEXT, TEXT, optional(TEXT), result=nullable(STRING)),
    value=_parse_url,
    doc="A part of a URL (HOST, PATH, QUERY, REF, PROTOCOL, AUTHORITY, FILE, USERINFO), or a parameter of "
    "its query.",
    example="PARSE_URL('http://facebook.com/p?k1=v1', 'QUERY', 'k1')",
)


# ---- network addresses


def _inet_aton(_: CallSite, text: str) -> int | None:
    """Also of fewer than four parts: the last one stands at the end, as a byte like the others."""
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(re.fullmatch(r"[0-9]{1,10}", p) for p in parts):
        return None
    numbers = [int(p) for p in parts]
    if any(n > 255 for n in numbers):
        return None
    found = 0
    for number in numbers[:-1]:
        found = found << 8 | number
    return (found << 8 * (5 - len(numbers))) | numbers[-1]


def _inet_ntoa(_: CallSite, number: int) -> str | None:
    if not 0 <= number <= 0xFFFFFFFF:
        return None
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


scalar(
    "INET_ATON",
    takes(TEXT, result=nullable(BIGINT)),
    value=_inet_aton,
    doc="The number of an IPv4 address; NULL: it is none.",
    example="INET_ATON('127.0.0.1')",
)
scalar(
    "INET_NTOA",
    takes(INTEGER, result=nullable(STRING)),
    value=_inet_ntoa,
    doc="The IPv4 address of a number.",
    example="INET_NTOA(2130706433)",
)
