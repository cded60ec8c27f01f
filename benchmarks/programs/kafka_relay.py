"""The floor of ``kafka_latency.py``: two plain processes, each from a topic to a topic, and no engine."""

import argparse
import json

from confluent_kafka import Consumer, Producer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    options = parser.parse_args()
    consumer = Consumer(
        {
            "bootstrap.servers": options.brokers,
            "group.id": f"relay-{options.source}",
            "auto.offset.reset": "earliest",
        }
    )
    producer = Producer({"bootstrap.servers": options.brokers, "linger.ms": 1})
    consumer.subscribe([options.source])
    counts = {}
    while True:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            record = json.loads(message.value())
            counts[record[0]] = count = counts.get(record[0], 0) + 1
            producer.produce(options.target, json.dumps([record[0], count, record[-1]]))
        producer.poll(0)


if __name__ == "__main__":
    main()
