"""A window assigner of the program's: each record goes to the window that it names."""

from pyflink.datastream import TimeWindow, WindowAssigner
from pyflink.datastream.window import EventTimeTrigger, TimeWindowSerializer
from timed import Contents, by_first, environment, events


class Named(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return [TimeWindow(timestamp, timestamp + length) for length in element[2]]

    def get_default_trigger(self, env):
        return EventTimeTrigger()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


env = environment()
records = [
    ("k", "a", [5, 10], 0),
    ("k", "b", [], 1),
    ("k", "c", [4], 2),
    ("k", "d", [10], 0),
    ("k", "e", [4], 20),
]
events(env, records, bound=1).key_by(by_first).window(Named()).process(Contents()).print()
env.execute()
