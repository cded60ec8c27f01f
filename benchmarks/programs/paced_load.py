"""Writes records to ``latency-in`` at a steady rate, each with the instant at which it was due."""

import argparse
import json
import time

from confluent_kafka import Producer

KEYS, PAUSE_S = 1_000, 0.004


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--rate", type=float, required=True, help="records a second")
    parser.add_argument("--records", type=int, required=True)
    options = parser.parse_args()
    # Behind a slow broker records wait for each other and go in larger requests: with the client's own limit,
    # which is none, more and more small ones would wait there.
    limits = {"linger.ms": 0.5, "max.in.flight.requests.per.connection": 5}
    producer = Producer({"bootstrap.servers": options.brokers, **limits})
    started, sent = time.time(), 0
    while sent < options.records:
        due = min(options.records, 1 + int((time.time() - started) * options.rate))
        for number in range(sent, due):
            record = json.dumps([number % KEYS, started + number / options.rate])
            producer.produce("latency-in", record, None, number % 2)
        sent = due
        producer.poll(0)
        time.sleep(PAUSE_S)
    producer.flush(30)


if __name__ == "__main__":
    main()
