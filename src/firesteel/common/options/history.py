"""The history server, and where ended jobs are archived for it."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import boolean, duration, integer, text

ARCHIVE_DIR: Final = text(
    "jobmanager.archive.fs.dir",
    None,
    "The directory in which each job that ends is archived for `firesteel history-server`: one file of the "
    "layout of Flink's history server. On a session cluster the setting of the cluster counts.",
)
DIRECTORIES: Final = text(
    "historyserver.archive.fs.dir",
    None,
    "The directories that the history server reads archives of ended jobs from, with commas between them.",
    scope="process",
)
REFRESH: Final = duration(
    "historyserver.archive.fs.refresh-interval",
    10_000,
    "How often the history server looks for new archives.",
    scope="process",
    bounds=Bounds(1),
)
RETAINED_JOBS: Final = integer(
    "historyserver.archive.retained-jobs",
    -1,
    "How many archives of jobs are kept in each directory; the history server **deletes** older ones there. "
    "-1: all of them. Archives that Flink 2.3 has written below applications are never deleted.",
    scope="process",
)
RETAINED_TTL: Final = duration(
    "historyserver.archive.retained-ttl",
    None,
    "For how long archives of jobs are kept; the history server **deletes** older ones.",
    scope="process",
    bounds=Bounds(1),
)
CLEAN_EXPIRED: Final = boolean(
    "historyserver.archive.clean-expired-jobs",
    False,
    "Forget a job when its archive is no longer in its directory. Otherwise it is shown until the history "
    "server ends.",
    scope="process",
)
ADDRESS: Final = text(
    "historyserver.web.address",
    None,
    "The address that the history server is bound to. Without it: 127.0.0.1, which only programs of this "
    "machine reach. Any other one needs `rest.auth` to be set.",
    scope="process",
)
PORT: Final = integer(
    "historyserver.web.port",
    8082,
    "The port of the history server. 0: any free port.",
    scope="process",
    bounds=Bounds(0, 65535),
)
WEB_REFRESH: Final = duration(
    "historyserver.web.refresh-interval",
    10_000,
    "How often the pages of the history server ask for news.",
    scope="process",
    bounds=Bounds(1),
)
TLS: Final = boolean(
    "historyserver.web.ssl.enabled",
    False,
    "Serve the history server by TLS; the certificate is that of the REST API (`security.ssl.rest.*`).",
    scope="process",
)
TEMPORARY: Final = text(
    "historyserver.web.tmpdir",
    None,
    "Where the history server keeps copies of the archives while it runs. Without it: the directory for "
    "temporary files.",
    scope="process",
)
DRIVER_LOG: Final = text(
    "historyserver.log.jobmanager.url-pattern",
    None,
    "Where the log of the driver of a job is to be found, with `<jobid>` in it.",
    scope="process",
)
WORKER_LOG: Final = text(
    "historyserver.log.taskmanager.url-pattern",
    None,
    "Where the log of a task manager is to be found, with `<jobid>` and `<tmid>` in it.",
    scope="process",
)
