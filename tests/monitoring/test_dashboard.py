"""The file of the dashboard: what Grafana needs of it. What its queries find is asked on Spark."""

from __future__ import annotations

import pytest

from tests.monitoring.queries import dashboard, missing, queries


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("query", queries(dashboard()))
def test_a_query_can_be_read_and_nothing_answers_it_from_nothing(query: str) -> None:
    assert missing(query, {})


def test_a_query_is_answered_by_series_with_its_labels() -> None:
    query = 'max by (task_name) (rate(m{job_name=~".*",kind="a"}[1m])) / avg by (task_name) (n)'
    labels = {"task_name": "t", "job_name": "j", "kind": "a"}
    assert missing(query, {"m": [(labels, 1.0)], "n": [(labels, 1.0)]}) == []
    assert missing(query, {"m": [({**labels, "kind": "b"}, 1.0)], "n": [(labels, 1.0)]}) == [f"m of {query}"]
    assert missing(query, {"m": [(labels, 1.0)], "n": [({}, 1.0)]})[0].startswith("label task_name of")
