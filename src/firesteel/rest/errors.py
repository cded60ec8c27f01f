"""Refusals of the API: a status and a sentence that says what to do."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.masking import masked


class RestError(Exception):
    """Ends a request with ``{"errors": [text]}``.

    :param status: the HTTP status.
    :param headers: further headers of the answer.
    """

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(masked(text))
        self.status = status
        self.headers = dict(headers or {})


def not_found(what: str) -> RestError:
    return RestError(404, what)


def unknown_job(job_id: str) -> RestError:
    return not_found(
        f"Job {job_id} not found. GET /jobs lists the known ones; "
        "ended jobs are dropped after jobstore.expiration-time."
    )


def unknown_worker(worker_id: str) -> RestError:
    return not_found(f"There is no task manager {worker_id}. GET /taskmanagers lists the known ones.")


def bad_request(what: str) -> RestError:
    return RestError(400, what)


def takes_no_programs() -> RestError:
    return not_found("This server has the jobs of one program, and takes no others. See docs/cluster.md.")


def not_one_file(received: str) -> RestError:
    """:param received: how many files came instead of one, in words that complete the sentence."""
    return bad_request(f"Exactly 1 file must be sent, received {received}.")


#: For ``not_one_file``, where there is no form at all or none with a file.
NO_FILE = "0: a form (multipart/form-data) with a file"
