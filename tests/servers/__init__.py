"""Tests against real servers, which session fixtures start and stop."""
