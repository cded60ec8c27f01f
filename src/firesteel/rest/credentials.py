"""Who may use the API: tokens, or names with passwords, of a file.

Each line has a role, ``read``, ``operate`` or ``submit``, and a secret: ``operate SECRET`` for a token,
``read NAME:SECRET`` for a password. In place of the secret may stand ``sha256:HEX`` of a token, or
``pbkdf2:ROUNDS:SALT:HEX`` of a password.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import stat
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final, Protocol

from firesteel.common.errors import ConfigurationError
from firesteel.common.masking import remember_secret
from firesteel.rest.settings import RestSettings

_ROUNDS: Final = 600_000
_VERIFIED: Final = 100  # headers that are remembered, since a password costs time


class Role(IntEnum):
    """What somebody may do; each may do what those before may."""

    READ = 1
    OPERATE = 2
    SUBMIT = 3


class Credentials(Protocol):
    """:cvar challenge: the value of the header that asks for them."""

    challenge: str

    def role(self, authorization: str) -> Role | None:
        """The role that a header ``Authorization`` gives; None: it gives none."""


@dataclass(frozen=True, slots=True)
class _Entry:
    role: Role
    name: str
    secret: str


class Anybody:
    """Whoever reaches the server may do everything."""

    challenge = ""

    def role(self, authorization: str) -> Role | None:
        return Role.SUBMIT


class Tokens:
    challenge = 'Bearer realm="firesteel"'

    def __init__(self, entries: list[_Entry]) -> None:
        self._roles = {_token_digest(entry.secret): entry.role for entry in entries}

    def role(self, authorization: str) -> Role | None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        given = hashlib.sha256(token.strip().encode()).digest()
        found = None
        for digest, role in self._roles.items():  # all of them, so that time says nothing
            if hmac.compare_digest(given, digest):
                found = role
        return found


class Passwords:
    challenge = 'Basic realm="firesteel", charset="UTF-8"'

    def __init__(self, entries: list[_Entry]) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._key = secrets.token_bytes(32)
        self._verified: dict[bytes, Role] = {}  # by a digest of the header that nobody else can make

    def role(self, authorization: str) -> Role | None:
        mark = hmac.digest(self._key, authorization.encode(), "sha256")
        found = self._verified.get(mark)
        if found is None:
            found = self._checked(authorization)
            if found is not None and len(self._verified) < _VERIFIED:
                self._verified[mark] = found
        return found

    def _checked(self, authorization: str) -> Role | None:
        scheme, _, encoded = authorization.partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            name, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        entry = self._entries.get(name)
        if entry is None or not colon:
            return None
        return entry.role if _is_password(password, entry.secret) else None


def password_hash(password: str) -> str:
    """What may stand in the file in place of a password.

    >>> password_hash("secret").split(":")[0]
    'pbkdf2'
    """
    salt = secrets.token_bytes(16)
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ROUNDS)
    return f"pbkdf2:{_ROUNDS}:{salt.hex()}:{digest.hex()}"


def _is_password(given: str, secret: str) -> bool:
    if not secret.startswith("pbkdf2:"):
        return hmac.compare_digest(given.encode(), secret.encode())
    _, rounds, salt, digest = secret.split(":")
    found = hashlib.pbkdf2_hmac("sha256", given.encode(), bytes.fromhex(salt), int(rounds))
    return hmac.compare_digest(found, bytes.fromhex(digest))


def _token_digest(secret: str) -> bytes:
    if secret.startswith("sha256:"):
        return bytes.fromhex(secret.removeprefix("sha256:"))
    return hashlib.sha256(secret.encode()).digest()


def credentials(settings: RestSettings) -> Credentials:
    """Those of the settings.

    :raises ConfigurationError: the file cannot be read, or others may read it, or a line is malformed.
    """
    if settings.auth == "none" or settings.auth_file is None:
        return Anybody()
    entries = _read(settings.auth_file, named=settings.auth == "basic")
    return Passwords(entries) if settings.auth == "basic" else Tokens(entries)


def _read(file: Path, *, named: bool) -> list[_Entry]:
    try:
        mode, text = file.stat().st_mode, file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigurationError(f"The credentials in {file} cannot be read", detail=str(e)) from e
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigurationError(
            f"Others may read the file with the credentials: {file}", hint=f"chmod 600 {file}"
        )
    lines = ((n, line.strip()) for n, line in enumerate(text.splitlines(), 1))
    found = [_entry(line, number, file, named) for number, line in lines if line and line[0] != "#"]
    if not found:
        raise ConfigurationError(f"There are no credentials in {file}", hint="write a line `operate SECRET`")
    return found


def _entry(line: str, number: int, file: Path, named: bool) -> _Entry:
    """Nothing of the line is said in an error: it is a secret."""
    role, _, rest = line.partition(" ")
    name, colon, secret = rest.strip().partition(":") if named else ("", ":", rest.strip())
    if role.upper() not in Role.__members__ or not colon or not secret or not _is_sound(secret):
        raise ConfigurationError(
            f"Line {number} of {file} is malformed",
            hint="write `operate NAME:SECRET`" if named else "write `operate SECRET`, or read for operate",
        )
    remember_secret(secret)
    return _Entry(Role[role.upper()], name, secret)


def _is_sound(secret: str) -> bool:
    try:
        if secret.startswith("sha256:"):
            return len(bytes.fromhex(secret.removeprefix("sha256:"))) == 32
        if secret.startswith("pbkdf2:"):
            _, rounds, salt, digest = secret.split(":")
            return int(rounds) > 0 and len(bytes.fromhex(salt)) > 0 and len(bytes.fromhex(digest)) == 32
    except ValueError:
        return False
    return True
