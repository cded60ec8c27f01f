"""Key groups: the unit in which keyed state is spread over subtasks (Flink: ``KeyGroupRangeAssignment``).

A key belongs to one of ``max_parallelism`` key groups for ever; subtask *i* of *p* owns a contiguous range of
them. The formulas are Flink's: state is rescaled and read elsewhere by them, so they may never change.
"""

from __future__ import annotations

LOWER_BOUND_MAX_PARALLELISM = 128
UPPER_BOUND_MAX_PARALLELISM = 1 << 15


def default_max_parallelism(parallelism: int) -> int:
    """The number of key groups of an operator for which the user set none: 1.5 times the parallelism,
    rounded up to a power of two, within [128, 32768]. Raises ValueError for a parallelism outside
    [1, 32768].

    >>> default_max_parallelism(4), default_max_parallelism(100), default_max_parallelism(200)
    (128, 256, 512)
    """
    if not 1 <= parallelism <= UPPER_BOUND_MAX_PARALLELISM:
        raise ValueError(f"parallelism must be in [1, {UPPER_BOUND_MAX_PARALLELISM}], got {parallelism}")
    wanted = parallelism + parallelism // 2
    return min(max(1 << (wanted - 1).bit_length(), LOWER_BOUND_MAX_PARALLELISM), UPPER_BOUND_MAX_PARALLELISM)


def key_group_range(max_parallelism: int, parallelism: int, subtask_index: int) -> range:
    """The key groups that subtask ``subtask_index`` owns: [ceil(i*maxP/p), ceil((i+1)*maxP/p)).

    Raises ValueError when ``parallelism`` is over ``max_parallelism`` or the subtask does not exist.

    >>> [key_group_range(128, 3, i) for i in range(3)]
    [range(0, 43), range(43, 86), range(86, 128)]
    """
    if not 1 <= parallelism <= max_parallelism:
        raise ValueError(f"parallelism {parallelism} must be in [1, max parallelism {max_parallelism}]")
    if not 0 <= subtask_index < parallelism:
        raise ValueError(f"subtask index {subtask_index} must be in [0, {parallelism})")
    start = (subtask_index * max_parallelism + parallelism - 1) // parallelism
    stop = ((subtask_index + 1) * max_parallelism + parallelism - 1) // parallelism
    return range(start, stop)


def subtask_of(key_group: int, max_parallelism: int, parallelism: int) -> int:
    """The subtask that owns ``key_group``: key_group * p // maxP.

    >>> [subtask_of(g, 128, 3) for g in (81, 22, 62)]
    [1, 0, 1]
    """
    return key_group * parallelism // max_parallelism
