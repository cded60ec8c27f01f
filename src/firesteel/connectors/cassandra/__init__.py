"""Connector for tables of Apache Cassandra; needs the package cassandra-driver (the extra ``cassandra``)."""
