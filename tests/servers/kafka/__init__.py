"""The Kafka connector against a real broker."""
