"""What the tests of metrics share."""

from __future__ import annotations

from tests.servers.fixtures import platform

__all__ = ["platform"]
