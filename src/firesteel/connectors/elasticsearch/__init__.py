"""Elasticsearch and OpenSearch, by the bulk API that both speak."""
