"""Builder of the Kafka sink."""

from __future__ import annotations

from typing import Any, Final

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.kafka.serialization import RecordSerializer
from firesteel.connectors.kafka.settings import BOOTSTRAP
from firesteel.connectors.kafka.sink import Guarantee, KafkaTopicSink
from firesteel.program import sources as base
from firesteel.program.checks import WrongArgumentError, property_value, require_text
from firesteel.program.connector_wrappers import DeliveryGuarantee, SinkWrapper
from firesteel.program.sink_wrappers import StreamTransformer, SupportsPreprocessing

_WHO: Final = "KafkaSink"
_GUARANTEES: Final = {
    DeliveryGuarantee.NONE: Guarantee.NONE,
    DeliveryGuarantee.AT_LEAST_ONCE: Guarantee.AT_LEAST_ONCE,
    DeliveryGuarantee.EXACTLY_ONCE: Guarantee.EXACTLY_ONCE,
}


class KafkaSink(SinkWrapper, SupportsPreprocessing):
    """Writes to Kafka topics; see ``builder``. The event time of a record becomes the timestamp of its
    message.

    - ``DeliveryGuarantee.NONE``: nothing waits for the brokers; a failure may lose or duplicate records.
    - ``AT_LEAST_ONCE``: an epoch ends when the brokers have acknowledged its messages; a failure may
      duplicate them.
    - ``EXACTLY_ONCE``: messages are written in one transaction once a checkpoint that covers them is
      complete. A consumer with ``isolation.level=read_committed`` sees each message once.

    >>> from firesteel.common import SimpleStringSchema
    >>> from firesteel.datastream.connectors.kafka import KafkaRecordSerializationSchema
    >>> sink = (
    ...     KafkaSink.builder()
    ...     .set_bootstrap_servers("localhost:9092")
    ...     .set_record_serializer(
    ...         KafkaRecordSerializationSchema.builder()
    ...         .set_topic("bills")
    ...         .set_value_serialization_schema(SimpleStringSchema())
    ...         .build()
    ...     )
    ...     .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    ...     .set_transactional_id_prefix("billing")
    ...     .build()
    ... )
    """

    def __init__(self, sink: KafkaTopicSink, transformer: StreamTransformer | None = None) -> None:
        super().__init__(sink)
        self._transformer = transformer

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        return KafkaSinkBuilder()

    def sink_for(self, type_info: TypeInformation | None) -> base.Sink:
        self._sink.serializer.check_type(type_info)
        return super().sink_for(type_info)

    def get_transformer(self) -> StreamTransformer | None:
        return self._transformer


class KafkaSinkBuilder:
    """Requires the bootstrap servers and a record serializer, and a transactional id prefix for
    EXACTLY_ONCE."""

    def __init__(self) -> None:
        self._serializer: RecordSerializer | None = None
        self._properties: dict[str, str] = {}
        self._guarantee = Guarantee.NONE
        self._prefix: str | None = None

    def build(self) -> KafkaSink:
        """Build the sink.

        :raises ProgramError: a setting is missing, or settings contradict each other.
        """
        if self._serializer is None:
            raise ProgramError(
                "A record serializer is required but not provided.",
                hint="set_record_serializer()",
                operator=_WHO,
            )
        sink = KafkaTopicSink(self._serializer, dict(self._properties), self._guarantee, self._prefix)
        sink.check()
        return KafkaSink(sink)

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Set the addresses of some brokers as ``host:port``, separated by commas."""
        return self.set_property(BOOTSTRAP, bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Set the delivery guarantee; the default is NONE."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise WrongArgumentError(
                "Not a DeliveryGuarantee.", operator=_WHO, detail=f"got {delivery_guarantee!r}"
            )
        self._guarantee = _GUARANTEES[delivery_guarantee]
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Set the prefix of the transactional ids. It must be unique to this sink on the cluster and stay the
        same when the job is restarted. The newest job with a prefix fences the previous ones."""
        self._prefix = require_text(transactional_id_prefix, "transactional id prefix", _WHO)
        return self

    def set_record_serializer(self, record_serializer: RecordSerializer) -> KafkaSinkBuilder:
        """Set what turns records into messages: a schema from ``KafkaRecordSerializationSchema.builder()`` or
        one derived from that class."""
        if not isinstance(record_serializer, RecordSerializer):
            raise WrongArgumentError(
                "Not a KafkaRecordSerializationSchema.",
                operator=_WHO,
                detail=f"got {record_serializer!r}",
                hint="KafkaRecordSerializationSchema.builder()...build()",
            )
        self._serializer = record_serializer
        return self

    def set_property(self, key: str, value: Any) -> KafkaSinkBuilder:
        """Set a property of Kafka's producer, by its Java name or its librdkafka name."""
        self._properties[require_text(key, "property", _WHO)] = property_value(key, value, _WHO)
        return self
