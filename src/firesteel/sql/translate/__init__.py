"""From the physical plan to transformations, whose operators are specs of ``operators/specs.py``: one module
for each family of nodes, and ``translator.py``, which has the table of them."""

from __future__ import annotations

from firesteel.sql.translate.translator import Program, Translator

__all__ = ["Program", "Translator"]
