"""The job of ``kafka_latency.py`` in Bytewax, with its recovery store and a snapshot every 10 s."""

import argparse
import json
import tempfile
from datetime import timedelta

import bytewax.operators as op
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.run import cli_main


def parse(message):
    key, instant = json.loads(message.value)
    return str(key), instant


def count(state, instant):
    state = (state or 0) + 1
    return state, (state, instant)


def result(keyed):
    key, (number, instant) = keyed
    return KafkaSinkMessage(None, json.dumps([int(key), number, instant]).encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", required=True)
    options = parser.parse_args()
    brokers = [options.brokers]
    flow = Dataflow("latency")
    # One message at a time: with more the client waits until it has as many.
    lines = op.input("in", flow, KafkaSource(brokers, ["latency-in"], batch_size=1))
    counted = op.stateful_map("count", op.map("parse", lines, parse), count)
    op.output("out", op.map("result", counted, result), KafkaSink(brokers, "latency-out"))
    with tempfile.TemporaryDirectory() as store:
        init_db_dir(store, 1)
        cli_main(flow, epoch_interval=timedelta(seconds=10), recovery_config=RecoveryConfig(store))


if __name__ == "__main__":
    main()
