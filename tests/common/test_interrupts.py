"""Ctrl-C, pressed again while the first one is still being taken."""

from __future__ import annotations

import threading

import pytest

from firesteel.common.interrupts import interruptible


def interrupted_twice() -> None:
    """What happens in ``Condition.wait`` when its lock is not taken back."""
    try:
        raise KeyboardInterrupt
    finally:
        threading.Lock().release()


def test_a_second_ctrl_c_is_one_too() -> None:
    with pytest.raises(RuntimeError, match="unlocked"):
        interrupted_twice()
    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupted_twice()


def test_the_first_one_and_other_errors_pass() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise KeyboardInterrupt
    with pytest.raises(RuntimeError, match="unlocked"), interruptible():
        threading.Lock().release()
