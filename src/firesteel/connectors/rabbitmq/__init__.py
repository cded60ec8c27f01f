"""Queues of RabbitMQ: needs the package pika (the extra ``rabbitmq``)."""
