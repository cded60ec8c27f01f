"""Connector for Elasticsearch and OpenSearch, through the bulk API that both support."""
