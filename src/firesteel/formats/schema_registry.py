"""Client of Confluent's schema registry and compatible ones (Karapace, Apicurio, Redpanda)."""

from __future__ import annotations

import base64
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.common.masking import remember, remember_secret

USER_INFO: Final = "basic.auth.user.info"
TOKEN: Final = "bearer.auth.token"
CA_FILE: Final = "ssl.ca.location"
TIMEOUT_MS: Final = "request.timeout.ms"
AUTO_REGISTER: Final = "auto.register.schemas"
_OPTIONS: Final = (USER_INFO, TOKEN, CA_FILE, TIMEOUT_MS, AUTO_REGISTER)
_ATTEMPTS: Final = 4
_FIRST_PAUSE_S: Final = 0.2
_CONTENT: Final = "application/vnd.schemaregistry.v1+json"


class SchemaRegistryError(FiresteelError, OSError):
    """Raised when the registry cannot be reached or refuses a request. It is not the fault of a record: it
    fails the job."""


class UnknownSchemaError(FiresteelError, LookupError):
    """Raised when the registry answers that it does not have the schema."""


@dataclass(frozen=True)
class RegistrySettings:
    """Where the registry is. ``url`` is one or more URLs separated by commas, tried in order; they may
    contain ``user:password@``. For ``configs`` see ``docs/formats.md``.

    :raises ConfigurationError: a URL or an option is invalid.
    """

    url: str = field(repr=False)
    configs: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for url in self.urls:
            parts = urllib.parse.urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ConfigurationError(
                    f"not the URL of a schema registry: {url!r}", hint="as in http://registry:8081"
                )
        unknown = sorted(set(self.configs) - set(_OPTIONS))
        if unknown:
            raise ConfigurationError(
                f"unknown option of a schema registry: {unknown[0]}", hint=f"one of {', '.join(_OPTIONS)}"
            )
        if not self.configs.get(TIMEOUT_MS, "1").isdigit():
            raise ConfigurationError(f"{TIMEOUT_MS} is not a number: {self.configs[TIMEOUT_MS]!r}")
        if self.configs.get(AUTO_REGISTER, "true") not in ("true", "false"):
            raise ConfigurationError(f"{AUTO_REGISTER} is true or false, not {self.configs[AUTO_REGISTER]!r}")

    @property
    def urls(self) -> list[str]:
        return [url.strip().rstrip("/") for url in self.url.split(",")]


class SchemaRegistry:
    """Sends requests to the registry, and retries once if it does not answer. Callers cache the answers: the
    schema of an id never changes."""

    def __init__(self, settings: RegistrySettings) -> None:
        configs = settings.configs
        for name, value in configs.items():
            remember(name, value)
        self._bases = [_without_user(url) for url in settings.urls]
        user = configs.get(USER_INFO) or _user_of(settings.urls[0])
        remember_secret(user and user.partition(":")[2])
        self._headers = {"Accept": _CONTENT, "Content-Type": _CONTENT}
        if TOKEN in configs:
            self._headers["Authorization"] = f"Bearer {configs[TOKEN]}"
        elif user:
            self._headers["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        self._timeout_s = int(configs.get(TIMEOUT_MS, "10000")) / 1000
        secure = any(base.startswith("https") for base in self._bases)
        self._ssl = ssl.create_default_context(cafile=configs.get(CA_FILE)) if secure else None

    def schema(self, schema_id: int) -> str:
        """Return the schema with this id, with the schemas it refers to inlined."""
        return self._complete(self._ask("GET", f"/schemas/ids/{schema_id}"))

    def register(self, subject: str, schema: str) -> int:
        """Return the id of a schema, and register it under a subject if necessary."""
        path = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions"
        return int(self._ask("POST", path, {"schema": schema})["id"])

    def id_of(self, subject: str, schema: str) -> int:
        """Return the id of a schema that is registered under a subject."""
        path = f"/subjects/{urllib.parse.quote(subject, safe='')}"
        return int(self._ask("POST", path, {"schema": schema})["id"])

    def _complete(self, answer: Mapping[str, Any]) -> str:
        kind = answer.get("schemaType", "AVRO")
        if kind != "AVRO":
            raise UnknownSchemaError(f"the schema is of the type {kind}, not AVRO")
        text: str = answer["schema"]
        definitions = {}
        for reference in answer.get("references") or ():
            subject = urllib.parse.quote(reference["subject"], safe="")
            found = self._ask("GET", f"/subjects/{subject}/versions/{reference['version']}")
            definitions[reference["name"]] = json.loads(self._complete(found))
        return json.dumps(_inlined(json.loads(text), "", definitions)) if definitions else text

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        reasons: list[str] = []
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_FIRST_PAUSE_S * 2 ** (attempt - 1))
            for base in self._bases:
                request = urllib.request.Request(base + path, data, self._headers, method=method)
                try:
                    with urllib.request.urlopen(
                        request, timeout=self._timeout_s, context=self._ssl
                    ) as answer:
                        return json.load(answer)
                except urllib.error.HTTPError as error:
                    reason = _reason(error)
                    if error.code == 404:
                        raise UnknownSchemaError(
                            f"the schema registry has no such schema: {reason}"
                        ) from None
                    if error.code < 500 and error.code != 429:
                        raise SchemaRegistryError(
                            f"the schema registry refuses {method} {path}", detail=f"{base}: {reason}"
                        ) from None
                    reasons.append(f"{base}: {reason}")
                except (OSError, ValueError) as error:  # no connection, a timeout, invalid JSON
                    reasons.append(f"{base}: {error}")
        raise SchemaRegistryError(
            "the schema registry does not answer",
            detail=f"{method} {path}: {'; '.join(dict.fromkeys(reasons))}",
            hint="see whether it runs, and whether workers can reach it",
        )


def _reason(error: urllib.error.HTTPError) -> str:
    with error:
        text = error.read(1000).decode("utf-8", "replace")
    try:
        answer = json.loads(text)
        return f"{answer['message']} ({answer['error_code']})"
    except (ValueError, KeyError, TypeError):
        return f"HTTP {error.code} {error.reason}"


def _user_of(url: str) -> str | None:
    parts = urllib.parse.urlsplit(url)
    if parts.username is None:
        return None
    return f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"


def _without_user(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _inlined(schema: Any, namespace: str, definitions: dict[str, Any]) -> Any:
    """Replace the first use of each name in a schema by its definition, which is removed from
    ``definitions``."""
    if isinstance(schema, list):
        return [_inlined(branch, namespace, definitions) for branch in schema]
    if isinstance(schema, str):
        name = schema if "." in schema or not namespace else f"{namespace}.{schema}"
        name = name if name in definitions else schema
        return _inlined(definitions.pop(name), "", definitions) if name in definitions else schema
    namespace = schema.get("namespace") or schema.get("name", "").rpartition(".")[0] or namespace
    changed = dict(schema)
    for key in ("type", "items", "values"):
        if key in schema:
            changed[key] = _inlined(schema[key], namespace, definitions)
    if "fields" in schema:
        fields = schema["fields"]
        changed["fields"] = [{**f, "type": _inlined(f["type"], namespace, definitions)} for f in fields]
    return changed
