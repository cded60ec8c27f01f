"""Rewriting of logical plans: one rule, one module."""
