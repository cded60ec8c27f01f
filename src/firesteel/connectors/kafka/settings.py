"""Translates properties of Kafka's Java clients, as Flink programs set them, to those of librdkafka."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.logs import logger
from firesteel.common.masking import remember

log = logger(__name__)

BOOTSTRAP: Final = "bootstrap.servers"
GROUP_ID: Final = "group.id"
ISOLATION: Final = "isolation.level"
TRANSACTIONAL_ID: Final = "transactional.id"
TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"
DISCOVERY_INTERVAL: Final = "partition.discovery.interval.ms"
COMMIT_ON_CHECKPOINT: Final = "commit.offsets.on.checkpoint"
AUTO_COMMIT: Final = "enable.auto.commit"
AUTO_COMMIT_INTERVAL: Final = "auto.commit.interval.ms"
CLIENT_ID_PREFIX: Final = "client.id.prefix"
API_TIMEOUT: Final = "default.api.timeout.ms"

ONE_MINUTE: Final = 60_000

# Read by the connector itself, or fixed by it.
_OURS: Final = frozenset(
    {
        *(DISCOVERY_INTERVAL, COMMIT_ON_CHECKPOINT, AUTO_COMMIT, AUTO_COMMIT_INTERVAL, CLIENT_ID_PREFIX),
        *(API_TIMEOUT, TRANSACTIONAL_ID, "auto.offset.reset", "register.consumer.metrics"),
        *("key.deserializer", "value.deserializer", "key.serializer", "value.serializer"),
    }
)
# Properties without a counterpart in this client. None of them changes what is read or written.
_WITHOUT_EFFECT: Final = frozenset(
    {
        *("max.poll.records", "partition.assignment.strategy", "interceptor.classes", "metric.reporters"),
        *(
            "metrics.num.samples",
            "metrics.recording.level",
            "metrics.sample.window.ms",
            "auto.include.jmx.reporter",
        ),
        *("exclude.internal.topics", "max.block.ms", "group.protocol", "enable.metrics.push"),
        *("partitioner.adaptive.partitioning.enable", "partitioner.availability.timeout.ms"),
    }
)
_OF_CONSUMERS: Final = frozenset(
    {
        *(
            GROUP_ID,
            ISOLATION,
            "fetch.min.bytes",
            "fetch.wait.max.ms",
            "fetch.max.wait.ms",
            "fetch.max.bytes",
        ),
        *("max.partition.fetch.bytes", "max.poll.interval.ms", "session.timeout.ms", "heartbeat.interval.ms"),
        *("check.crcs", "group.instance.id", "allow.auto.create.topics", "client.rack"),
    }
)
_OF_PRODUCERS: Final = frozenset(
    {
        *("acks", "linger.ms", "batch.size", "compression.type", "retries", "delivery.timeout.ms"),
        *("enable.idempotence", "max.in.flight.requests.per.connection", "buffer.memory", "max.request.size"),
        *(TRANSACTION_TIMEOUT, "partitioner.class"),
    }
)
_RENAMED: Final = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
_CREDENTIAL: Final = re.compile(r"\b(username|password)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;]+))")


def _jaas(value: str) -> dict[str, str]:
    found = {m[1]: m[2] or m[3] or m[4] or "" for m in _CREDENTIAL.finditer(value)}
    if found.keys() != {"username", "password"}:
        raise ConfigurationError(
            "sasl.jaas.config has no username and password",
            detail="PlainLoginModule and ScramLoginModule are understood",
            hint="set sasl.username and sasl.password, or what librdkafka has for your mechanism",
        )
    return {f"sasl.{name}": text for name, text in found.items()}


def _truststore(value: str) -> dict[str, str]:
    if value.lower().endswith((".jks", ".p12", ".pfx")):
        raise ConfigurationError(
            "A Java truststore cannot be read by the Kafka client.",
            detail=f"ssl.truststore.location={value}",
            hint="export its certificates as PEM, and set ssl.ca.location to that file",
        )
    return {"ssl.ca.location": value}


def _partitioner_class(value: str) -> dict[str, str]:
    raise ConfigurationError(
        "A partitioner written in Java cannot be used.",
        detail=f"partitioner.class={value}",
        hint="give set_partitioner() of KafkaRecordSerializationSchema.builder() a KafkaPartitioner",
    )


_TRANSLATED: Final[dict[str, Callable[[str], dict[str, str]]]] = {
    "sasl.jaas.config": _jaas,
    "ssl.truststore.location": _truststore,
    "ssl.truststore.password": lambda value: {},
    "ssl.truststore.type": lambda value: {},
    "partitioner.class": _partitioner_class,
    "buffer.memory": lambda value: {"queue.buffering.max.kbytes": str(max(1, int(value) // 1024))},
    "ssl.endpoint.identification.algorithm": lambda value: {
        "ssl.endpoint.identification.algorithm": value or "none"
    },
}


@cache
def _say_once(end: str, name: str) -> None:
    log.warning("property has no effect on a Kafka %s name=%s", end, name)


def client_settings(properties: Mapping[str, str], *, producer: bool) -> dict[str, Any]:
    """Return librdkafka's settings for ``properties``, which may use Java's names or librdkafka's.

    :raises ConfigurationError: a property cannot be translated.
    """
    foreign = _OF_CONSUMERS if producer else _OF_PRODUCERS
    settings: dict[str, Any] = {}
    for name, value in properties.items():
        remember(name, value)
        if name in _OURS:
            continue
        if name in foreign or name in _WITHOUT_EFFECT:
            _say_once("sink" if producer else "source", name)
        elif name in _TRANSLATED:
            settings |= _TRANSLATED[name](value)
        elif name == "request.timeout.ms":
            settings["request.timeout.ms" if producer else "socket.timeout.ms"] = value
        else:
            settings[_RENAMED.get(name, name)] = value
    return settings


_CONNECTION: Final = (
    *("bootstrap.", "security.", "sasl.", "ssl.", "enable.ssl", "client.dns", "socket.", "broker."),
    *("reconnect.", "debug", "enable.sasl"),
)


def connection_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings for address and authentication, which apply to any kind of client."""
    wanted = {name: value for name, value in properties.items() if name.startswith(_CONNECTION)}
    return client_settings(wanted, producer=True)


def number(properties: Mapping[str, str], name: str, default: int) -> int:
    """Return one of the connector's own properties, in milliseconds."""
    text = properties.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"{name} is a number of milliseconds", detail=f"got {text!r}") from None


def flag(properties: Mapping[str, str], name: str, default: bool) -> bool:
    text = properties.get(name, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise ConfigurationError(f"{name} is true or false", detail=f"got {properties[name]!r}")
    return text == "true"
