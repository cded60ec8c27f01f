"""A picture of watermarks: event time upwards, one step after the other to the right."""

from __future__ import annotations

from typing import Final

from docs.drawing.layout import Axis
from docs.drawing.scenes import Fed, Scene
from docs.drawing.strip import step_name
from docs.drawing.svg import MARGIN, WIDTH, Canvas, seconds
from firesteel.testing import StreamRecord, Watermark, WatermarkStatus

_TOP: Final = 54
_BOTTOM: Final = 290
_LEFT: Final = MARGIN + 34

Points = list[tuple[int, int]]  # (step, watermark): from this step on


class WatermarkPicture:
    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.canvas = Canvas()
        self.output = _rises(scene)
        marked = {fed.channel for fed in scene.feed if fed.channel is not None and not _record(fed)}
        self.channels = {channel: _of_channel(scene, channel) for channel in sorted(marked)}
        self.column = (WIDTH - MARGIN - _LEFT - 66) / len(scene.feed)
        times = [time for points in (self.output, *self.channels.values()) for _, time in points]
        times += [record.timestamp or 0 for fed in scene.feed if (record := _record(fed))]
        self.time = Axis(min(0, *times), max(times) * 1.08, _BOTTOM, _TOP)

    def draw(self, title: str) -> str:
        canvas = self.canvas
        canvas.heading(32, "Event time, seconds")
        self._draw_legend()
        for tick in self.time.ticks():
            y = self.time(tick)
            canvas.line(_LEFT, y, WIDTH - MARGIN, y, "rule")
            canvas.text(_LEFT - 10, y + 4, seconds(tick), "quiet", size=11, anchor="end")
        self._draw_output()
        for number, points in self.channels.items():
            self._draw_channel(number, points)
        for step, fed in enumerate(self.scene.feed):
            self._draw_step(step, fed)
        if not self.channels:
            canvas.text(_LEFT, _BOTTOM + 34, "in order of arrival", "quiet", size=11.5)
        return canvas.render(_BOTTOM + 56, title, self._description())

    def _x(self, step: int) -> float:
        return _LEFT + self.column * (step + 0.5)

    def _draw_legend(self) -> None:
        canvas, x = self.canvas, WIDTH - MARGIN - 74.0
        canvas.line(x - 30, 28, x - 8, 28, "mark-line", width=6)
        canvas.text(x, 32, "watermark", "quiet", size=11.5)
        for number in reversed(self.channels):
            x -= 112
            canvas.line(x - 30, 28, x - 8, 28, f"line{number}", width=2)
            canvas.text(x, 32, f"channel {number}", "quiet", size=11.5)
        if any(self._is_behind(step) for step in range(len(self.scene.feed))):
            x -= 172
            canvas.hollow_dot(x - 14, 28, "", "late", radius=5)
            canvas.text(x, 32, "behind the watermark", "quiet", size=11.5)

    def _draw_output(self) -> None:
        """The watermark as a thick stair; each step says how high it is."""
        path = self._stair(self.output, len(self.scene.feed))
        self.canvas.path(path, "mark-line faint", width=6)
        for step, watermark in self.output:
            x, y = self._x(step), self.time(watermark)
            self.canvas.text(x + 20, y + 18, seconds(watermark), "mark-text", size=11, bold=True)

    def _draw_channel(self, number: int, points: Points) -> None:
        """The watermarks of a channel; a pause while it is idle."""
        feed = self.scene.feed
        idle = [i for i, f in enumerate(feed) if f.channel == number and f.event is WatermarkStatus.IDLE]
        ends = [next((i for i in idle if i > step), len(feed)) for step, _ in points]
        for i, (step, _) in enumerate(points):
            following = points[i + 1][0] if i + 1 < len(points) else len(feed)
            stop = min(following, ends[i])
            joined = points[i : i + 2] if stop == following else points[i : i + 1]
            self.canvas.path(self._stair(joined, stop), f"line{number}")
            self.canvas.dot(self._x(step), self.time(points[i][1]), "", number, radius=4)

    def _stair(self, points: Points, stop: int) -> str:
        """A path through ``points``, level until the next of them and at last until ``stop``."""
        x = self._x(points[0][0])
        path = f"M{x:.1f} {self.time(points[0][1]):.1f}"
        for step, time in points[1:]:
            path += f"H{self._x(step):.1f}V{self.time(time):.1f}"
        end = self._x(stop) if stop < len(self.scene.feed) else WIDTH - MARGIN - 8
        if points[-1][0] < stop:
            path += f"H{end:.1f}"
        return path

    def _draw_step(self, step: int, fed: Fed) -> None:
        canvas, x = self.canvas, self._x(step)
        record = _record(fed)
        if record is not None:
            y, label = self.time(record.timestamp or 0), _name(record)
            if self._is_behind(step):
                canvas.gap(x, y)
                canvas.hollow_dot(x, y, label, "late")
            elif len(label) > 2:
                canvas.box(x - 16, y - 11, 32, 22, "dot0", radius=11)
                canvas.text(x, y + 4, label, "dot-text", size=11, anchor="middle", bold=True)
            else:
                canvas.dot(x, y, label, 0)
            return
        canvas.text(x, _BOTTOM + 22, f"channel {fed.channel}", "quiet", size=11, anchor="middle")
        canvas.text(x, _BOTTOM + 38, _event_name(fed), "ink", size=11.5, anchor="middle", bold=True)

    def _is_behind(self, step: int) -> bool:
        record = _record(self.scene.feed[step])
        before = [watermark for at, watermark in self.output if at < step]
        return record is not None and bool(before) and (record.timestamp or 0) <= before[-1]

    def _description(self) -> str:
        rises = dict(self.output)
        sentences = []
        for step, fed in enumerate(self.scene.feed):
            record = _record(fed)
            if record is not None:
                what = f"{_name(record)} at {seconds(record.timestamp or 0)}"
            else:
                what = f"Channel {fed.channel}: {_event_name(fed)}"
            then = f"; the watermark comes to {seconds(rises[step])}" if step in rises else ""
            behind = ", behind the watermark" if self._is_behind(step) else ""
            sentences.append(f"{what}{behind}{then}.")
        return " ".join(sentences)


def shows_watermarks(scene: Scene) -> bool:
    """Whether it is about watermarks: some come out that did not come in just so."""
    new = [fed for fed in scene.feed if not (isinstance(fed.event, Watermark) and fed.channel is None)]
    return any(isinstance(event, Watermark) for fed in new for event in fed.out)


def _record(fed: Fed) -> StreamRecord | None:
    """The record that came out, with the timestamp that it was given."""
    return next((event for event in fed.out if isinstance(event, StreamRecord)), None)


def _rises(scene: Scene) -> Points:
    return [
        (step, event.timestamp)
        for step, fed in enumerate(scene.feed)
        for event in fed.out
        if isinstance(event, Watermark)
    ]


def _of_channel(scene: Scene, channel: int) -> Points:
    return [
        (step, fed.event.timestamp)
        for step, fed in enumerate(scene.feed)
        if fed.channel == channel and isinstance(fed.event, Watermark)
    ]


def _event_name(fed: Fed) -> str:
    if isinstance(fed.event, WatermarkStatus):
        return fed.event.name.lower()
    return step_name(fed.event).replace("watermark", "W")


def _name(record: StreamRecord) -> str:
    value = record.value
    return str(value[0] if isinstance(value, tuple) else value)
