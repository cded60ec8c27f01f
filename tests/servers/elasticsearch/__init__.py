"""Real servers of Elasticsearch and OpenSearch, and what the connector does with them."""
