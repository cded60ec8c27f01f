"""What is said about the keys of a configuration before its job runs.

- A key that Firesteel reads: its value must be of its kind. An older name is a notice; so is a key without
  effect that is not at its default, with the reason.
- A key of Flink that Firesteel does not read: a notice that says why, or an error where that is too little.
- A key that nobody knows, in an area of Firesteel or Flink: it is misspelt, an error that names the nearest.
- Any other unknown key: a notice. Flink takes such keys too, and programs carry their own among them.
- ``spark.*``: they are Spark's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from enum import Enum
from types import ModuleType
from typing import Any, Final, NamedTuple

from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options import OPTIONS, PRESENT_NAMES
from firesteel.common.options.execution import SPARK_MASTER
from firesteel.common.options.flink_keys import flink_keys
from firesteel.common.options.pipeline import GLOBAL_JOB_PARAMETERS

NO_EFFECT: Final = "no effect"
SPARK_PREFIX: Final = SPARK_MASTER.key.partition(".")[0] + "."
# Keys that begin so are Flink's or ours, never a program's own.
AREAS: Final = frozenset(
    (
        *("firesteel", "execution", "pipeline", "state", "python", "table", "restart-strategy"),
        *("parallelism", "taskmanager", "jobmanager", "high-availability", "sql-client", "sql-gateway"),
    )
)


class Verdict(Enum):
    """What becomes of a key."""

    EFFECT = "effect"
    SPARK = "passed to Spark"
    NO_EFFECT = "no effect"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    MISSPELT = "misspelt"


class Finding(NamedTuple):
    """:param present: the name that counts, where the key is an older one.
    :param why: for NO_EFFECT and REFUSED.
    """

    verdict: Verdict
    present: str
    why: str = ""


def examine(key: str) -> Finding:
    """Say what becomes of a key that is set."""
    if key in OPTIONS:
        return _known(key)
    if key in PRESENT_NAMES:
        return _known(PRESENT_NAMES[key][0])
    if any(key.startswith(f"{name}.") for name in _MAPS):
        return Finding(Verdict.EFFECT, key)
    if key.startswith(SPARK_PREFIX):
        return Finding(Verdict.SPARK, key)
    known = flink_keys()
    if (why := known.reason(key)) is not None:
        present = known.older.get(key, key)
        return Finding(Verdict.REFUSED if known.refuses(key) else Verdict.NO_EFFECT, present, why)
    return Finding(Verdict.MISSPELT if key.partition(".")[0] in AREAS else Verdict.UNKNOWN, key)


def nearest(key: str) -> list[str]:
    """Return up to three known keys that look like this one."""
    known = flink_keys()
    return get_close_matches(key, [*OPTIONS, *PRESENT_NAMES, *known.reasons, *known.older], 3, 0.75)


def check_keys(keys: Iterable[str]) -> None:
    """Refuse keys that are misspelt, or that cannot be obeyed.

    :raises ConfigurationError: it names the key and the nearest known ones.
    """
    for key in sorted(keys):
        found = examine(key)
        if found.verdict is Verdict.REFUSED:
            raise ConfigurationError(f"The option {key} cannot be obeyed", detail=found.why)
        if found.verdict is Verdict.MISSPELT:
            near = nearest(key)
            raise ConfigurationError(
                f"There is no option {key}",
                detail="neither Firesteel nor Flink has a key of this name",
                hint=f"did you mean {' or '.join(near)}?" if near else "`firesteel config` lists the options",
            )


def check(configuration: Configuration) -> None:
    """Refuse keys as ``check_keys`` does, and values that are not of the kind of their option."""
    check_keys(configuration.key_set())
    for key in sorted(configuration.key_set()):
        for present in (key, *PRESENT_NAMES.get(key, ())):
            if present in OPTIONS:
                configuration.get(OPTIONS[present])


def without_effect(configuration: Configuration, area: ModuleType) -> list[str]:
    """Return a sentence for each option of an area that is set and has no effect."""
    declared = [option for option in vars(area).values() if isinstance(option, ConfigOption)]
    names = {name for option in declared for name in (option.key, *option.older_names)}
    chosen = {key: value for key, value in configuration.to_dict().items() if key in names}
    return [said for said in notices(Configuration.from_dict(chosen)) if NO_EFFECT in said]


def notices(configuration: Configuration, obeyed: Collection[str] = ()) -> list[str]:
    """Return sentences about the options that have no effect, have older names or are unknown.

    :param obeyed: options that have an effect on this job, though they have none on others.
    """
    without: dict[str, tuple[str, list[str]]] = {}
    unknown, older = [], []
    for key in sorted(configuration.key_set()):
        found = examine(key)
        if found.verdict is Verdict.UNKNOWN:
            unknown.append(key)
        elif found.present in obeyed:
            continue
        elif found.verdict is Verdict.NO_EFFECT and not _is_default(configuration, found.present):
            # one sentence for each option of ours; a file of Flink may have many keys without effect
            group = found.present if found.present in OPTIONS else found.why
            without.setdefault(group, (found.why, []))[1].append(key)
        elif key in PRESENT_NAMES:
            older.append(f"{key} is read as {' and '.join(PRESENT_NAMES[key])}, its present name")
    said = older + [in_vain(keys, why) for why, keys in without.values()]
    if unknown:
        said.append(
            f"{', '.join(unknown)}: neither Firesteel nor Flink has {_them(unknown)}, so nothing reads "
            f"what is set (parameters of the program belong in {GLOBAL_JOB_PARAMETERS.key})"
        )
    return said


def in_vain(keys: Sequence[str], why: str) -> str:
    """The sentence about options that are set in vain."""
    return f"{', '.join(keys)} {'has' if len(keys) == 1 else 'have'} {NO_EFFECT}: {why}"


def _them(keys: list[str]) -> str:
    return "such a key" if len(keys) == 1 else "such keys"


def _known(key: str) -> Finding:
    why = OPTIONS[key].no_effect
    return Finding(Verdict.EFFECT, key) if why is None else Finding(Verdict.NO_EFFECT, key, why)


def _is_default(configuration: Configuration, key: str) -> bool:
    if key not in OPTIONS:
        return False
    value: Any = configuration.get(OPTIONS[key])
    return bool(value == OPTIONS[key].default_value)


_MAPS: Final = tuple(key for key, option in OPTIONS.items() if option.kind.name == "map")
