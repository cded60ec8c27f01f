"""The soak goes on where it stopped, and its report hides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kills import soak as under_test
from tests.kills.outcomes import ROOT, Journal, Outcome, Provenance
from tests.kills.report import report

HERE = Provenance("abc", clean=True, cores=2)


def journal_of(tmp_path: Path, *outcomes: Outcome, provenance: Provenance = HERE) -> Journal:
    journal = Journal(tmp_path / "kills.jsonl", provenance)
    for outcome in outcomes:
        journal.add(outcome)
    return journal


def test_a_journal_that_is_opened_again_knows_what_is_missing(tmp_path: Path) -> None:
    journal_of(
        tmp_path, Outcome("worker", 7, 1, 2.0), Outcome("worker", 8, 1, 2.0), Outcome("executor", 7, 1, 2.0)
    )
    again = journal_of(tmp_path)
    assert again.missing("worker", 5, 99) == (3, 9)
    assert again.missing("executor", 1, 99) == (0, 8)
    assert again.missing("driver killed", 5, 99) == (5, 99)


def test_a_failure_is_told_without_the_place_of_the_tree(tmp_path: Path) -> None:
    (outcome,) = journal_of(tmp_path, Outcome("worker", 7, 1, 2.0, f'File "{ROOT}/tests/x.py"'))
    assert outcome.failure == 'File "tests/x.py"'


def test_runs_of_a_kind_are_of_one_commit(tmp_path: Path) -> None:
    journal_of(tmp_path, Outcome("worker", 7, 1, 2.0), *(Outcome("executor", n, 1, 2.0) for n in (7, 8, 9)))
    later = journal_of(tmp_path, provenance=Provenance("def", clean=True, cores=2))
    assert later.missing("executor", 3, 99) == (0, 10), "a kind that is complete stays"
    assert later.missing("worker", 3, 99) == (3, 99)
    assert len(later.of("worker")) == 1, "until there is a newer one"
    later.add(Outcome("worker", 99, 1, 2.0))
    for journal in (later, journal_of(tmp_path, provenance=Provenance("def", clean=True, cores=2))):
        assert [outcome.seed for outcome in journal.of("worker")] == [99]
        assert journal.missing("worker", 3, 99) == (2, 100)
        assert len(journal.of("executor")) == 3
    text = report(later.entries, ["executor", "worker"], 3, {}, "kills.jsonl")
    assert "| executor | 3 | 3 | 3 | 2.0 | 7 to 9 | abc |" in text
    assert "| worker | 1 | 1 | 1 | 2.0 | 99 to 99 | def |" in text


def test_runs_are_made_anew(tmp_path: Path) -> None:
    journal = journal_of(tmp_path, Outcome("worker", 7, 1, 2.0), Outcome("executor", 7, 1, 2.0))
    journal.forget(["worker"])
    assert journal_of(tmp_path).missing("worker", 1, 5) == (1, 5)
    assert journal_of(tmp_path).missing("executor", 1, 5) == (0, 8)


def test_the_report_shows_what_was_not_run_not_struck_and_not_sound(tmp_path: Path) -> None:
    journal = journal_of(
        tmp_path,
        Outcome("worker", 3, 2, 4.0),
        Outcome("worker", 4, 0, 6.0, "windows: 1 lost"),
        provenance=Provenance("abc", clean=False, cores=2),
    )
    kinds = ["worker", "full disk", "speculation"]
    text = report(journal.entries, kinds, 3, {"full disk": "no right to mount"}, "kills.jsonl")
    day = journal.entries[-1].ended[:10]
    assert f"| worker | 2 | 1 | 1 | 5.0 | 3 to 4 | abc | {day} | **2 of 3 runs** |" in text
    assert "| full disk | 0 | 0 | 0 |  |  |  |  | **CANNOT RUN HERE**: no right to mount |" in text
    assert "| speculation | 0 | 0 | 0 |  |  |  |  | **NOT RUN** |" in text
    assert "## worker, seed 4\n\n```\nwindows: 1 lost\n```" in text
    assert "**The tree had changes beside the commit**. Machine: 2 hardware threads." in text


def test_a_kind_that_cannot_run_is_told_and_fails_the_soak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(under_test, "hindrances", lambda: {"full disk": "no right to mount"})
    monkeypatch.setattr(
        under_test, "outcomes", lambda work, kinds, *_: iter([Outcome(k, 1, 1, 1.0) for k in kinds])
    )
    journal = journal_of(tmp_path)
    kinds = ["worker", "full disk"]
    under_test.soak(kinds, 1, 1, tmp_path / "kills.md", journal)
    assert "*** THE KILL TEST 'full disk' CANNOT RUN HERE: no right to mount" in capsys.readouterr().err
    assert [outcome.kind for outcome in journal] == ["worker"]
    assert "**CANNOT RUN HERE**: no right to mount" in (tmp_path / "kills.md").read_text()
    assert under_test.exit_status(kinds, journal, allow_missing=False) == 3
    assert under_test.exit_status(kinds, journal, allow_missing=True) == 0
    assert under_test.exit_status(["worker"], journal, allow_missing=False) == 0
    journal.add(Outcome("worker", 2, 1, 1.0, "windows: 1 lost"))
    assert under_test.exit_status(["worker"], journal, allow_missing=True) == 1


def test_every_kind_stands_in_the_soak() -> None:
    assert {"full disk", "driver killed", "kafka: worker", "kafka: broker", "kafka: driver"} <= set(
        under_test.KINDS
    )
    assert {"sql: worker", "sql: full disk", "sql: driver killed", "sql: speculation"} <= set(
        under_test.KINDS
    )
