"""Connector for topics of Apache Pulsar; needs the package pulsar-client (the extra ``pulsar``)."""
