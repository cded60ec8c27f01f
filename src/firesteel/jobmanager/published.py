"""The newest view of a job, which is made when somebody asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from msgspec.structs import replace

from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.job_view import JobView, VertexView
from firesteel.jobmanager.vertex_counts import VertexCounts


class Published:
    """Any thread reads it; the observer alone publishes. It never waits for a reader.

    :param head: a view without its vertices.
    :param counts: what these are made of.
    """

    def __init__(self, head: JobView, counts: Sequence[VertexCounts]) -> None:
        self._newest = head, counts
        self._lock = Lock()  # around what follows: the view that was made last, and of what
        self._head: JobView | None = None
        self._view = head
        self._vertices: dict[str, tuple[VertexCounts, VertexView]] = {}

    def publish(self, head: JobView, counts: Sequence[VertexCounts]) -> None:
        self._newest = head, counts

    @property
    def status(self) -> JobStatus:
        """That of the newest view, which need not be made for it."""
        return self._newest[0].status

    @property
    def view(self) -> JobView:
        """The newest view. It shares with the view before what did not change."""
        with self._lock:
            head, counts = self._newest
            if head is not self._head:
                self._vertices = {vertex.info.id: (vertex, self._view_of(vertex)) for vertex in counts}
                self._view = replace(head, vertices=tuple(view for _, view in self._vertices.values()))
                self._head = head
            return self._view

    def _view_of(self, counts: VertexCounts) -> VertexView:
        known = self._vertices.get(counts.info.id)
        return known[1] if known is not None and known[0] is counts else counts.view()
