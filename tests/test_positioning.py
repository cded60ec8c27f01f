"""The pages for those who come from elsewhere answer what is usually asked, and say what is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.drawing.by_name import TESTS
from docs.drawing.pages import DOCS, examples, links
from firesteel.connectors.registry import CONNECTORS, FORMATS

HUB = DOCS / "coming-from.md"
PEERS = sorted((DOCS / "coming-from").glob("*.md"))
IN_PYTHON = re.compile(r"^```py\n(.*?)```", re.DOTALL | re.MULTILINE)  # ours are ```python
QUESTIONS = (
    "Is this as fast as Flink?",
    "Is it real time, or micro-batches?",
    "Why not Spark Structured Streaming, if Spark runs it anyway?",
    "Why not Flink itself?",
    "And Storm?",
    "What do I not get?",
)


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def section(page: Path, heading: str) -> str:
    """What stands below a heading, up to the next one of its level or above."""
    until_next = rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#{{1,3}} |\Z)"
    found = re.search(until_next, text(page), re.DOTALL | re.MULTILINE)
    assert found is not None, f"{page.name} has no section {heading!r}"
    return found[2]


@pytest.mark.row("S-ARCH-15")
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_usual_questions_are_answered(question: str) -> None:
    assert len(section(HUB, question).split()) > 40


@pytest.mark.row("S-ARCH-15", "S-SPARK-12", "S-USE-04")
def test_the_class_of_latency_is_stated_and_leads_to_figures() -> None:
    answer = section(HUB, "Is it real time, or micro-batches?")
    assert "the latency of Spark's micro-batches" in " ".join(answer.split())
    assert "(limits.md#latency-and-throughput)" in answer
    figures = section(DOCS / "limits.md", "Latency and throughput")
    for measured in ("115, 179, 226", "8.9, 15.0, 23.5", "5, 16, 24"):
        assert measured in figures
        assert measured in text(DOCS.parent / "README.md"), "both pages have the same figures"


@pytest.mark.row("S-ARCH-15")
def test_what_one_does_not_get_is_a_table_that_the_readme_leads_to() -> None:
    rows = re.findall(r"^\| (.+?) \| .+ \|$", section(HUB, "What do I not get?"), re.MULTILINE)
    assert len(rows) >= 8
    assert any("milliseconds" in row for row in rows)
    assert ("docs/coming-from.md", "what-do-i-not-get") in links(DOCS.parent / "README.md")


@pytest.mark.row("S-SPARK-11", "S-NET-18")
def test_nobody_has_to_throttle_the_input_from_outside() -> None:
    assert "throttle" in section(DOCS / "limits.md", "What limits the input")
    assert "#what-limits-the-input" in text(DOCS / "coming-from/structured-streaming.md")


@pytest.mark.row("S-ECO-05")
def test_the_glossary_tells_graphs_of_streams_from_libraries_for_graphs() -> None:
    assert re.search(r"^\| graph \(.*not graph \*processing\*", text(DOCS / "glossary.md"), re.MULTILINE)


@pytest.mark.row("S-NET-15")
def test_the_glossary_says_which_modules_do_the_work_of_flinks_classes() -> None:
    table = section(DOCS / "glossary.md", "Where Flink's classes are")
    rows = re.findall(r"^\| (.*`.*) \| (.+) \|( .*)? \|$", table, re.MULTILINE)
    assert len(rows) >= 25
    modules = {module for _, here, _ in rows for module in re.findall(r"`(\w+/[\w/]+\.py)`", here)}
    assert [module for module in modules if not (DOCS.parent / "src/firesteel" / module).exists()] == []
    classes = " ".join(flinks for flinks, _, _ in rows)
    for name in ("NetworkEnvironment", "NettyShuffleEnvironment", "TaskExecutor", "JobMaster", "SlotPool"):
        assert f"`{name}`" in classes
    for _, here, says in rows:
        assert modules & set(re.findall(r"`([^`]+)`", here)) or says.strip(), (
            "who does it, or why nobody does"
        )


@pytest.mark.parametrize("page", PEERS, ids=lambda page: page.stem)
def test_a_page_for_a_peer_has_concepts_both_programs_and_what_differs(page: Path) -> None:
    written = text(page)
    assert written.count("\n| ") >= 12
    assert re.search(r"^```(py|java)\n", written, re.MULTILINE), "the program of the peer"
    assert all(example.output for example in examples(page))
    assert len(examples(page)) >= 1
    assert "hat is different" in written
    assert "hat is not here" in written
    assert f"coming-from/{page.name}" in text(HUB)


def test_the_programs_of_peers_in_python_are_python() -> None:
    theirs = [code for page in PEERS for code in IN_PYTHON.findall(text(page))]
    assert len(theirs) == 4
    for code in theirs:
        compile(code, "theirs.py", "exec")


def test_the_program_of_pyflink_is_the_same_text() -> None:
    page = DOCS / "coming-from/pyflink.md"
    (theirs,) = IN_PYTHON.findall(text(page))
    (ours,) = examples(page)
    assert ours.code.partition("\n")[2] == theirs.replace("pyflink", "firesteel")


# ---- systems outside


@pytest.mark.row("S-ECO-07")
def test_the_status_of_each_table_format_is_in_one_table() -> None:
    table = section(DOCS / "systems.md", "Table formats of lakes")
    rows = dict(re.findall(r"^\| (\w+) \| (.+) \|$", table, re.MULTILINE))
    assert {"Delta", "Iceberg", "Paimon", "Hudi", "Hive"} <= set(rows)
    assert all(len(row.split(" | ")) == 4 for row in rows.values()), "read, written, once, tested"


@pytest.mark.row("S-ECO-07")
def test_every_connector_and_format_is_listed_with_its_tests() -> None:
    listed = section(DOCS / "systems.md", "By name")
    for registry in (CONNECTORS, FORMATS):
        for name in filter(registry.is_own, registry.names()):
            assert f"| `{name}` |" in listed
            place = DOCS.parent / "tests" / TESTS[name]
            files = [place] if place.is_file() else list(place.glob("test_*.py"))
            assert files, f"{place} has no tests"
