"""The builder of Kafka sinks."""

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
    """Writes to topics of Kafka; see ``builder``. The event time of a record is the timestamp of its message.

    - ``DeliveryGuarantee.NONE``: nothing waits for the brokers; a failure may lose or double records.
    - ``AT_LEAST_ONCE``: an epoch ends when the brokers have its messages; a failure may double them.
    - ``EXACTLY_ONCE``: messages are written when a checkpoint that covers them is complete, in one
      transaction. A consumer with ``isolation.level=read_committed`` sees each once.

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
    """Needs the bootstrap servers and a record serializer; with EXACTLY_ONCE a transactional id prefix."""

    def __init__(self) -> None:
        self._serializer: RecordSerializer | None = None
        self._properties: dict[str, str] = {}
        self._guarantee = Guarantee.NONE
        self._prefix: str | None = None

    def build(self) -> KafkaSink:
        """The sink.

        :raises ProgramError: something is missing or contradicts.
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
        """``host:port`` of some brokers, with commas between them."""
        return self.set_property(BOOTSTRAP, bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """What a failure may do to the output; NONE, when this is not called."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise WrongArgumentError(
                "Not a DeliveryGuarantee.", operator=_WHO, detail=f"got {delivery_guarantee!r}"
            )
        self._guarantee = _GUARANTEES[delivery_guarantee]
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """What the transactional ids of this sink begin with: one name for each sink on the cluster, which
        stays when the job is started again. The newest job with it fences those before."""
        self._prefix = require_text(transactional_id_prefix, "transactional id prefix", _WHO)
        return self

    def set_record_serializer(self, record_serializer: RecordSerializer) -> KafkaSinkBuilder:
        """How messages are made of records: ``KafkaRecordSerializationSchema.builder()``, or a schema derived
        from that class."""
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
        """A property of Kafka's producer, by its Java name or that of librdkafka."""
        self._properties[require_text(key, "property", _WHO)] = property_value(key, value, _WHO)
        return self
