"""Options of the SQL client and of the SQL gateway."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import boolean, duration, integer, word

RESULT_MODES: Final = ("TABLE", "CHANGELOG", "TABLEAU")

RESULT_MODE: Final = word(
    "sql-client.execution.result-mode",
    "TABLE",
    RESULT_MODES,
    "How the SQL client shows the rows of a query: TABLE and CHANGELOG fill the screen and refresh it, "
    "TABLEAU prints. Without a terminal it is always TABLEAU.",
)
MAX_TABLE_ROWS: Final = integer(
    "sql-client.execution.max-table-result.rows",
    1_000_000,
    "How many rows TABLE and CHANGELOG keep; older ones are dropped.",
    bounds=Bounds(1),
)
PRINT_TIME_COST: Final = boolean(
    "sql-client.display.print-time-cost", False, "Print how long a query took, after its rows."
)
VERBOSE: Final = boolean("sql-client.verbose", False, "Print the whole stack trace of an error.")

SESSION_IDLE_TIMEOUT: Final = duration(
    "sql-gateway.session.idle-timeout",
    600_000,
    "After how long without a request a session of the SQL gateway is closed; 0: never.",
    scope="cluster",
    bounds=Bounds(0),
)
SESSION_CHECK_INTERVAL: Final = duration(
    "sql-gateway.session.check-interval",
    60_000,
    "How often the SQL gateway looks for idle sessions; 0: it does not.",
    scope="cluster",
    bounds=Bounds(0),
)
MAX_SESSIONS: Final = integer(
    "sql-gateway.session.max-num",
    1_000_000,
    "How many sessions the SQL gateway has at most; each is a process.",
    scope="cluster",
    bounds=Bounds(1),
)
