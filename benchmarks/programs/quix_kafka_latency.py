"""The job of ``kafka_latency.py`` in Quix Streams: state with a changelog topic, a commit every 10 s."""

import argparse
import tempfile

from quixstreams import Application


def count(value, state):
    number = state.get("count", 0) + 1
    state.set("count", number)
    return [value[0], number, value[1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        app = Application(
            broker_address=options.brokers,
            consumer_group="latency",
            auto_offset_reset="earliest",
            commit_interval=10.0,
            state_dir=directory,
            producer_extra_config={"linger.ms": 1},
            loglevel="ERROR",
        )
        records = app.dataframe(app.topic("latency-in", value_deserializer="json"))
        # State is kept by the key of the message; the load sends none, so there is an exchange, as elsewhere.
        keyed = records.group_by(lambda value: str(value[0]), name="key")
        keyed.apply(count, stateful=True).to_topic(app.topic("latency-out", value_serializer="json"))
        app.run()


if __name__ == "__main__":
    main()
