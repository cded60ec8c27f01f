"""Queues of RabbitMQ: needs the package pika (``pip install 'firesteel[rabbitmq]'``)."""
