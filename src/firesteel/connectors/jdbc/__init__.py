"""Connector for relational databases through Python drivers, modelled on Flink's JDBC connector."""
