"""Odd inputs and programs, one table for each area. ``docs/design/odd-inputs.md`` is made from them."""

from __future__ import annotations
