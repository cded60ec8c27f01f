"""Relational databases through Python's own drivers, with Flink's JDBC connector as the model."""
