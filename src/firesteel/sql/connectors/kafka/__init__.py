"""``kafka`` and ``upsert-kafka``: tables whose rows are messages of Kafka topics."""
