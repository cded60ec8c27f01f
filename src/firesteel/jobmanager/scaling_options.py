"""The options of how the parallelism of a job changes while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.common.configuration import Configuration
from firesteel.common.options import scaling as options


@dataclass(frozen=True, slots=True)
class ScalingOptions:
    """:param reactive: the job uses all slots that there are.
    :param settle_ms: how long another number of slots must stay before the job follows it.
    :param cooldown_ms: between two changes that nobody has asked for.
    """

    adaptive: bool = True
    reactive: bool = False
    settle_ms: int = 60_000
    cooldown_ms: int = 30_000


def scaling_options(configuration: Configuration) -> ScalingOptions:
    reactive = configuration.get(options.SCHEDULER_MODE) == "reactive"
    return ScalingOptions(
        adaptive=reactive or configuration.get(options.SCHEDULER) != "default",
        reactive=reactive,
        settle_ms=configuration.get(options.STABILIZATION),
        cooldown_ms=configuration.get(options.COOLDOWN),
    )
