"""From the logical plan to the physical one: one module for each family of nodes.

``plan`` chooses operators (``physical.py``), puts exchanges where equal rows have to meet, and asks
``changelog.py`` which changes each node makes. The tree that it returns is what ``translate/`` makes
transformations of.
"""

from __future__ import annotations

from firesteel.sql.planner.builder import plan

__all__ = ["plan"]
