"""Connector for queues of RabbitMQ; needs the package pika (the extra ``rabbitmq``)."""
