"""Apache Kafka (Flink: ``flink-connector-kafka``), with the client of the extra ``kafka``.

Programs use the builders of ``firesteel.datastream.connectors.kafka``; here is what these build.
"""
