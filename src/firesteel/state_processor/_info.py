"""What is known of a state that is stored."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.common.typeinfo import TypeInformation


@dataclass(frozen=True, slots=True)
class StateInfo:
    """A state that a savepoint holds.

    :param uid: what the program called the operator, None if it did not; ``operator_id`` is always there.
    :param kind: ``value``, ``list``, ``map``, ``reducing``, ``aggregating``; ``operator list``, ``union
        list``, ``broadcast``; ``panes``, ``sessions``, ``time buffer`` of windows and joins; ``partial
        matches``, ``waiting events`` of patterns; ``timers``; one that another package adds.
    :param type_info: the declared type (of a list the LIST, of a map the MAP); None: any object.
    :param key_type: the declared type of the key; None: any object, or the state belongs to no key.
    """

    operator: str
    uid: str | None
    operator_id: str
    name: str
    kind: str
    type_info: TypeInformation | None
    key_type: TypeInformation | None
    has_ttl: bool
