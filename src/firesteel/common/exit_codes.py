"""How the process of a job ends when its job has not."""

from __future__ import annotations

from typing import Final

#: Its dispatcher is gone.
ORPHANED: Final = 74
#: The JVM of Spark is gone; the job goes on in another one.
ENGINE_LOST: Final = 75
