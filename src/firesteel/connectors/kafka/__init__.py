"""Connector for Apache Kafka (Flink: ``flink-connector-kafka``); its client comes with the extra ``kafka``.

Programs use the builders of ``firesteel.datastream.connectors.kafka``; this package holds what they build.
"""
