"""A real RabbitMQ server, and what the connector does with it."""
