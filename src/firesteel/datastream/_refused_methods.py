"""What Flink's DataStream has, or had, and a stream here has not: refused with the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from firesteel.common.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from firesteel.program.transformations import Transformation


class RefusedMethods:
    """Base of streams: methods that raise ``UnsupportedFeatureError``, which is a ``NotImplementedError``."""

    _transformation: Transformation

    def split(self, output_selector: Any) -> NoReturn:
        """Several streams of one (Flink removed it with 1.12)."""
        self._refuse(
            "A stream cannot be split: Flink has removed split() and select().",
            "use side outputs: yield (OutputTag, value) in process(), and get_side_output(tag) of its result",
        )

    def iterate(self, max_wait_time_ms: int = 0) -> NoReturn:
        """Feed results back (Flink removed it with 2.0)."""
        self._refuse(
            "A stream cannot be fed back to itself: Flink has removed iterate().",
            "run one job for each round: firesteel.datastream.iterations.iterate_bounded does it for bounded "
            "streams; let records of others go round through a topic",
        )

    def _refuse(self, message: str, hint: str) -> NoReturn:
        raise UnsupportedFeatureError(message, operator=self._transformation.name, hint=hint)
