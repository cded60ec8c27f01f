"""Builders of Apache Pulsar sources and sinks (PyFlink: ``pyflink.datastream.connectors.pulsar``).

See ``docs/pulsar.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NoReturn, Self

from firesteel.common.config_options import ConfigOption
from firesteel.common.errors import ConfigurationError, ProgramError, UnsupportedFeatureError
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.time import Duration
from firesteel.connectors.pulsar.client import PulsarSettings, load_client
from firesteel.connectors.pulsar.cursors import FROM_EARLIEST, NEVER, At, Cursor, Place, place_of
from firesteel.connectors.pulsar.sink import PulsarTopicSink, Routing
from firesteel.connectors.pulsar.source import PulsarTopicSource, check_pattern
from firesteel.program.checks import WrongArgumentError, require_int, require_text
from firesteel.program.connector_wrappers import DeliveryGuarantee, SinkWrapper, SourceWrapper

_DISCOVERY: Final = "pulsar.source.partitionDiscoveryIntervalMs"


def _place(message_id: bytes) -> Place:
    try:
        return place_of(load_client().MessageId.deserialize(message_id))
    except (TypeError, ValueError, RuntimeError) as error:
        raise WrongArgumentError(
            "Not a message id of Pulsar.",
            detail=f"got {message_id!r}",
            hint="message.message_id().serialize() of the package pulsar gives one",
        ) from error


def _instant_ms(timestamp: int) -> int:
    return require_int(timestamp, "timestamp in milliseconds", 0, None, "cursor")


class StartCursor:
    """Where to start reading partitions; created by its static methods."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    @staticmethod
    def default_start_cursor() -> StartCursor:
        return StartCursor.earliest()

    @staticmethod
    def earliest() -> StartCursor:
        return StartCursor(FROM_EARLIEST)

    @staticmethod
    def latest() -> StartCursor:
        """After the last message that exists when the job discovers the partition."""
        return StartCursor(Cursor(At.LATEST))

    @staticmethod
    def from_message_id(message_id: bytes, inclusive: bool = True) -> StartCursor:
        """:param message_id: the result of ``MessageId.serialize`` of the package pulsar."""
        place = _place(message_id)
        return StartCursor(Cursor(At.MESSAGE, place.before if inclusive else place))

    @staticmethod
    def from_publish_time(timestamp: int) -> StartCursor:
        """:param timestamp: epoch milliseconds."""
        return StartCursor(Cursor(At.PUBLISH_TIME, time_ms=_instant_ms(timestamp)))


class StopCursor:
    """Where to stop reading partitions; created by its static methods. Times are in epoch milliseconds."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    @staticmethod
    def default_stop_cursor() -> StopCursor:
        return StopCursor.never()

    @staticmethod
    def never() -> StopCursor:
        return StopCursor(NEVER)

    @staticmethod
    def latest() -> StopCursor:
        """After the last message that exists when the job discovers the partition."""
        return StopCursor(Cursor(At.LATEST))

    @staticmethod
    def at_event_time(timestamp: int) -> StopCursor:
        """Before the first message whose event time is ``timestamp`` or later."""
        return StopCursor(Cursor(At.EVENT_TIME, time_ms=_instant_ms(timestamp)))

    @staticmethod
    def after_event_time(timestamp: int) -> StopCursor:
        """Before the first message whose event time is later than ``timestamp``."""
        return StopCursor(Cursor(At.EVENT_TIME, time_ms=_instant_ms(timestamp) + 1))

    @staticmethod
    def at_publish_time(timestamp: int) -> StopCursor:
        """Before the first message published at ``timestamp`` or later."""
        return StopCursor(Cursor(At.PUBLISH_TIME, time_ms=_instant_ms(timestamp)))

    @staticmethod
    def after_publish_time(timestamp: int) -> StopCursor:
        """Before the first message published after ``timestamp``."""
        return StopCursor(Cursor(At.PUBLISH_TIME, time_ms=_instant_ms(timestamp) + 1))

    @staticmethod
    def at_message_id(message_id: bytes) -> StopCursor:
        """Before this message."""
        return StopCursor(Cursor(At.MESSAGE, _place(message_id).before))

    @staticmethod
    def after_message_id(message_id: bytes) -> StopCursor:
        """After this message."""
        return StopCursor(Cursor(At.MESSAGE, _place(message_id)))


class RangeGenerator:
    """Which keys to read: always all, because partitions are read completely."""

    @staticmethod
    def full() -> RangeGenerator:
        return RangeGenerator()

    @staticmethod
    def fixed_key(
        support_null_key: bool = False,
        keys: str | list[str] | None = None,
        key_bytes: bytes | None = None,
        ordering_key_bytes: bytes | None = None,
    ) -> NoReturn:
        """Not supported: it is for subscriptions of type Key_Shared, which are not among PyFlink's options
        either, and delivers messages with other keys too."""
        raise UnsupportedFeatureError(
            "Only whole partitions of Pulsar can be read, not ranges of keys.",
            hint="leave the range generator out, and filter() the stream",
        )


class PulsarSource(SourceWrapper):
    """Reads topics; created by ``PulsarSource.builder()``."""

    @staticmethod
    def builder() -> PulsarSourceBuilder:
        return PulsarSourceBuilder()


class _Builder:
    """What both builders share."""

    _who: str

    def __init__(self) -> None:
        self._service_url: str | None = None
        self._admin_url: str | None = None
        self._topics: tuple[str, ...] = ()
        self._options: dict[str, Any] = {}

    def set_admin_url(self, admin_url: str) -> Self:
        """Set the URL of the administration, such as ``http://host:8080``."""
        self._admin_url = require_text(admin_url, "admin URL", self._who)
        return self

    def set_service_url(self, service_url: str) -> Self:
        """Set the URL of the brokers, such as ``pulsar://host:6650``."""
        self._service_url = require_text(service_url, "service URL", self._who)
        return self

    def set_topics(self, topics: str | list[str]) -> Self:
        """Set the names of topics, with or without ``persistent://tenant/namespace/``; the default is
        ``public/default``. The name of a partitioned topic stands for all of its partitions."""
        names = topics if isinstance(topics, list) else [topics]
        self._topics = tuple(require_text(name, "topic", self._who) for name in names)
        return self

    def set_authentication(
        self, auth_plugin_class_name: str, auth_params_string: str | dict[str, str]
    ) -> NoReturn:
        """Not supported, because it has not been tested."""
        raise UnsupportedFeatureError("There is no authentication to Pulsar yet.", operator=self._who)

    def _settings(self) -> PulsarSettings:
        for name, value in (("service URL", self._service_url), ("admin URL", self._admin_url)):
            if value is None:
                raise ProgramError(f"A {self._who} needs the {name} of the cluster.", hint="set it")
        assert self._service_url is not None
        assert self._admin_url is not None
        return PulsarSettings(self._service_url, self._admin_url)


class PulsarSourceBuilder(_Builder):
    """Requires URLs, a subscription, topics or a pattern, and a schema."""

    _who = "PulsarSource"

    def set_subscription_name(self, subscription_name: str) -> Self:
        """Set the subscription, for which Pulsar retains what no checkpoint has covered. It is created if it
        does not exist."""
        self._options["subscription"] = require_text(subscription_name, "subscription", self._who)
        return self

    def set_topic_pattern(self, topic_pattern: str) -> Self:
        """Set a regular expression for full topic names. It must contain a literal namespace."""
        self._options["pattern"] = check_pattern(require_text(topic_pattern, "pattern", self._who))
        return self

    def set_consumer_name(self, consumer_name: str) -> Self:
        """Set the consumer name shown in the brokers' statistics."""
        self._options["consumer_name"] = require_text(consumer_name, "consumer name", self._who)
        return self

    def set_range_generator(self, range_generator: RangeGenerator) -> Self:
        if not isinstance(range_generator, RangeGenerator):
            raise WrongArgumentError("Not a RangeGenerator.", detail=f"got {range_generator!r}")
        return self

    def set_start_cursor(self, start_cursor: StartCursor) -> Self:
        """Set where to start; the default is the earliest available message."""
        self._options["start"] = start_cursor.cursor
        return self

    def set_unbounded_stop_cursor(self, stop_cursor: StopCursor) -> Self:
        """Stop reading partitions there; the job keeps running and waits for new ones."""
        self._options.update(stop=stop_cursor.cursor, bounded=False)
        return self

    def set_bounded_stop_cursor(self, stop_cursor: StopCursor) -> Self:
        """Stop reading partitions there; the job ends when all partitions have been read."""
        self._options.update(stop=stop_cursor.cursor, bounded=True)
        return self

    def set_deserialization_schema(self, deserialization_schema: DeserializationSchema) -> Self:
        """Set the schema for the content of messages. Their event time becomes the timestamp, or 0 if they
        have none."""
        self._options["schema"] = deserialization_schema
        return self

    def set_config(self, key: str | ConfigOption[Any], value: Any) -> Self:
        """Set ``pulsar.source.partitionDiscoveryIntervalMs``, the only option; the default is 30,000."""
        name = key if isinstance(key, str) else key.key
        if name != _DISCOVERY:
            raise _no_option(name, _DISCOVERY)
        self._options["discovery_ms"] = require_int(int(value), name, 0, None, self._who)
        return self

    def set_config_with_dict(self, config: Mapping[str, Any]) -> Self:
        return self.set_properties(config)

    def set_properties(self, config: Mapping[str, Any]) -> Self:
        for key, value in config.items():
            self.set_config(key, value)
        return self

    def build(self) -> PulsarSource:
        """Build the source.

        :raises ProgramError: a setting is missing.
        """
        options = self._options
        if bool(self._topics) == ("pattern" in options):
            raise ProgramError("A PulsarSource needs topics, or a pattern, and not both.")
        for name, setter in (
            ("subscription", "set_subscription_name"),
            ("schema", "set_deserialization_schema"),
        ):
            if name not in options:
                raise ProgramError(f"A PulsarSource needs a {name}.", hint=f"{setter}()")
        source = PulsarSource(PulsarTopicSource(settings=self._settings(), topics=self._topics, **options))
        produced = getattr(options["schema"], "get_produced_type", None)
        source.produced_type = None if produced is None else produced()
        return source


class TopicRoutingMode(Enum):
    """How the partition of a message is chosen."""

    #: Each partition in turn, for a number of messages.
    ROUND_ROBIN = 0
    #: One partition per subtask, as messages have no keys.
    MESSAGE_KEY_HASH = 1
    #: A router written in Java; not supported.
    CUSTOM = 2


class MessageDelayer:
    """When consumers with subscriptions of type Shared see a message."""

    def __init__(self, delay_ms: int) -> None:
        self.delay_ms = delay_ms

    @staticmethod
    def never() -> MessageDelayer:
        """Immediately."""
        return MessageDelayer(0)

    @staticmethod
    def fixed(duration: Duration) -> MessageDelayer:
        return MessageDelayer(require_int(duration.to_millis(), "delay in ms", 0, None, "MessageDelayer"))


class PulsarSink(SinkWrapper):
    """Writes to topics; created by ``PulsarSink.builder()``."""

    @staticmethod
    def builder() -> PulsarSinkBuilder:
        return PulsarSinkBuilder()


_ROUTING: Final = {
    TopicRoutingMode.ROUND_ROBIN: Routing.ROUND_ROBIN,
    TopicRoutingMode.MESSAGE_KEY_HASH: Routing.ONE,
}


class PulsarSinkBuilder(_Builder):
    """Requires URLs, topics and a schema. The default delivery guarantee is DeliveryGuarantee.NONE."""

    _who = "PulsarSink"

    def set_producer_name(self, producer_name: str) -> Self:
        """Set the producer name shown in the brokers' statistics; host and process are appended to it."""
        self._options["producer_name"] = require_text(producer_name, "producer name", self._who)
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Accepts NONE and AT_LEAST_ONCE. EXACTLY_ONCE is not supported: Pulsar's Python client has no
        transactions."""
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise UnsupportedFeatureError(
                "There is no exactly-once sink for Pulsar.",
                detail="its client for Python has no transactions",
                hint="DeliveryGuarantee.AT_LEAST_ONCE, and consumers that know a message by its content",
            )
        self._options["waits"] = delivery_guarantee is DeliveryGuarantee.AT_LEAST_ONCE
        return self

    def set_topic_routing_mode(self, topic_routing_mode: TopicRoutingMode) -> Self:
        """Set how partitions are chosen; the default is ROUND_ROBIN."""
        if topic_routing_mode not in _ROUTING:
            raise UnsupportedFeatureError(
                "A topic router of one's own cannot be used.",
                detail=f"got {topic_routing_mode!r}",
                hint="ROUND_ROBIN or MESSAGE_KEY_HASH, or a sink for each topic behind a side output",
            )
        self._options["routing"] = _ROUTING[topic_routing_mode]
        return self

    def set_topic_router(self, topic_router_class_name: str) -> NoReturn:
        """Not supported: it is a Java class."""
        raise UnsupportedFeatureError(
            "A topic router written in Java cannot be used.", detail=f"got {topic_router_class_name!r}"
        )

    def set_serialization_schema(self, serialization_schema: SerializationSchema) -> Self:
        """Set the schema for the content of messages; timestamps of records become their event times."""
        self._options["schema"] = serialization_schema
        return self

    def delay_sending_message(self, message_delayer: MessageDelayer) -> Self:
        self._options["delay_ms"] = message_delayer.delay_ms
        return self

    def set_config(self, key: str, value: Any) -> Self:
        """Not supported: there are no options yet."""
        raise _no_option(key, "none")

    def set_properties(self, config: Mapping[str, Any]) -> Self:
        for key, value in config.items():
            self.set_config(key, value)
        return self

    def build(self) -> PulsarSink:
        """Build the sink.

        :raises ProgramError: a setting is missing.
        """
        if not self._topics:
            raise ProgramError("A PulsarSink needs topics.", hint="set_topics()")
        if "schema" not in self._options:
            raise ProgramError("A PulsarSink needs a schema.", hint="set_serialization_schema()")
        return PulsarSink(PulsarTopicSink(settings=self._settings(), topics=self._topics, **self._options))


def _no_option(name: str, known: str) -> ConfigurationError:
    return ConfigurationError(f"There is no option {name!r} of Pulsar.", detail=f"known are: {known}")
