"""What a finished job leaves behind (Flink: ``JobExecutionResult``)."""

from __future__ import annotations

from typing import Any

from firesteel.common.job_id import JobID

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """Runtime and accumulators of a job that has ended.

    :param job_id: the job.
    :param net_runtime_ms: from its start to its end.
    :param accumulators: results by name.
    """

    def __init__(
        self, job_id: JobID, net_runtime_ms: int, accumulators: dict[str, Any] | None = None
    ) -> None:
        self._job_id = job_id
        self._net_runtime_ms = net_runtime_ms
        self._accumulators = dict(accumulators or {})

    def get_job_id(self) -> JobID:
        return self._job_id

    def is_job_execution_result(self) -> bool:
        """True: this is the result of a job that has ended. (Of a job that was only submitted, Flink
        returns an object that says False.)"""
        return True

    def get_net_runtime(self) -> int:
        """Milliseconds."""
        return self._net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """None if the job has no accumulator of this name."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        return dict(self._accumulators)

    def _repr_html_(self) -> str:
        from firesteel.common import html

        if not self.is_job_execution_result():
            return html.piece("The job was handed in", html.facts(("job id", str(self._job_id))))
        about = html.facts(("job id", str(self._job_id)), ("runtime", f"{self._net_runtime_ms} ms"))
        results = sorted(self._accumulators.items())
        return html.piece(
            "The job has finished", about, html.table(["accumulator", "result"], results) if results else ""
        )

    def __str__(self) -> str:
        lines = [
            "Program execution finished",
            f"Job with JobID {self._job_id} has finished.",
            f"Job Runtime: {self._net_runtime_ms} ms",
        ]
        if self._accumulators:
            lines.append("Accumulator Results: ")
            lines += [f"- {name}: {value}" for name, value in self._accumulators.items()]
        return "\n".join(lines) + "\n"
