"""Options of what happens after a failure."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import duration, integer, number, text

STRATEGY: Final = text(
    "restart-strategy.type",
    None,
    "`none`, `fixed-delay`, `failure-rate` or `exponential-delay`. Without it: exponential-delay for jobs "
    "with checkpoints, none for all others.",
    bounds=Bounds(1),
    older_names=("restart-strategy",),
)
FIXED_ATTEMPTS: Final = integer(
    "restart-strategy.fixed-delay.attempts", 1, "fixed-delay: how often the job is restarted."
)
FIXED_DELAY: Final = duration(
    "restart-strategy.fixed-delay.delay", 1_000, "fixed-delay: the time before each restart."
)
RATE_FAILURES: Final = integer(
    "restart-strategy.failure-rate.max-failures-per-interval",
    1,
    "failure-rate: how many failures there may be within the interval.",
)
RATE_INTERVAL: Final = duration(
    "restart-strategy.failure-rate.failure-rate-interval",
    60_000,
    "failure-rate: the interval within which failures are counted.",
)
RATE_DELAY: Final = duration(
    "restart-strategy.failure-rate.delay", 1_000, "failure-rate: the time before each restart."
)
INITIAL_BACKOFF: Final = duration(
    "restart-strategy.exponential-delay.initial-backoff",
    1_000,
    "exponential-delay: the time before the first restart.",
)
MAX_BACKOFF: Final = duration(
    "restart-strategy.exponential-delay.max-backoff",
    60_000,
    "exponential-delay: the longest time before a restart.",
)
MULTIPLIER: Final = number(
    "restart-strategy.exponential-delay.backoff-multiplier",
    1.5,
    "exponential-delay: the time grows by this factor with each failure.",
)
JITTER: Final = number(
    "restart-strategy.exponential-delay.jitter-factor",
    0.1,
    "exponential-delay: the part of the time by which it is changed at random.",
)
RESET_THRESHOLD: Final = duration(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    3_600_000,
    "exponential-delay: after this time without a failure the delays start over.",
)
RESET_ATTEMPTS: Final = integer(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    2**31 - 1,
    "exponential-delay: how many failures there may be before the delays start over.",
)
