"""Patterns of events in streams (Flink: ``flink-cep``). See ``docs/cep.md``."""
