"""The examples of the documentation: each prints what its page says, and the pictures are of what it does.

Examples of docs/testing.md and docs/skew.md are a test suite of a user's, and run as such; so are those of
other pages whose names begin with ``test_``, which may import the programs beside them. All others are
programs, which need no Spark but for those of docs/state-processor.md.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from docs.drawing.pages import DOCS, PICTURES, Example, anchors, examples, links, pages, pictures
from docs.make_concept_pictures import FILES, PLACE
from docs.make_epoch_picture import FILE, EpochPicture
from docs.make_pictures import make
from firesteel.datastream import window
from firesteel.testing import MiniCluster
from tests.waiting import patience

# Window assigners that programs have by another name.
WRITTEN_AS = {
    "CountTumblingWindowAssigner": ".count_window(3)",
    "CountSlidingWindowAssigner": ".count_window(3, 2)",
    "DynamicEventTimeSessionWindows": "EventTimeSessionWindows.with_dynamic_gap(",
    "DynamicProcessingTimeSessionWindows": "SessionWindows.with_dynamic_gap(",
}

PAGE_OF_TESTS = DOCS / "testing.md"
PAGE_ON_SKEW = DOCS / "skew.md"
PAGE_ON_TABLES = DOCS / "state-processor.md"
_NEED_A_SERVER = ("cassandra", "kafka", "kinesis", "pulsar")  # run in tests/servers
PAGES_ON_SERVERS = tuple(DOCS / f"{name}.md" for name in _NEED_A_SERVER)
_ELSEWHERE = (PAGE_OF_TESTS, PAGE_ON_SKEW, PAGE_ON_TABLES, *PAGES_ON_SERVERS)
PAGES_OF_PROGRAMS = [page for page in pages() if page not in _ELSEWHERE]
ON_SPARK = "test_on_spark.py"
EXAMPLES = [example for page in PAGES_OF_PROGRAMS for example in examples(page)]
PROGRAMS = [example for example in EXAMPLES if not example.name.startswith("test_")]
PAGES_WITH_TESTS = sorted({example.page for example in EXAMPLES if example.name.startswith("test_")})
PROGRAMS_ON_SPARK = ("tumbling", "session", "late_data", "window_join", "interval_join")


def write_examples(folder: Path, page: Path = PAGE_OF_TESTS) -> list[str]:
    found = examples(page)
    for example in found:
        (folder / f"{example.name}.py").write_text(example.code, encoding="utf-8")
    return [f"{example.name}.py" for example in found]


def run_pytest(folder: Path, *names: str) -> None:
    """As in a project without any setting, but warnings are errors."""
    options = ["-q", "-W", "error", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=150"]
    command = [sys.executable, "-m", "pytest", *options, *names]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=patience(200))
    assert done.returncode == 0, done.stdout + done.stderr


def run_program(example: Example) -> None:
    exec(compile(example.code, f"{example.name}.py", "exec"), {"__name__": "__main__"})


def test_the_tests_without_spark(tmp_path: Path) -> None:
    names = [name for name in write_examples(tmp_path) if name.startswith("test_") and name != ON_SPARK]
    assert len(names) >= 8
    run_pytest(tmp_path, *names)


def test_the_examples_on_skew(tmp_path: Path) -> None:
    run_pytest(tmp_path, *write_examples(tmp_path, PAGE_ON_SKEW))


@pytest.mark.parametrize("page", PAGES_WITH_TESTS, ids=lambda page: page.name)
def test_the_tests_of_a_page_of_programs(tmp_path: Path, page: Path) -> None:
    run_pytest(tmp_path, *(name for name in write_examples(tmp_path, page) if name.startswith("test_")))


@pytest.mark.spark
def test_the_test_on_spark(tmp_path: Path) -> None:
    assert ON_SPARK in write_examples(tmp_path)
    run_pytest(tmp_path, ON_SPARK)


DESIGN = sorted((DOCS / "design").glob("*.md"))


@pytest.mark.parametrize("page", [*pages(), *DESIGN, *DOCS.parent.glob("*.md")], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{path} is not there"
        assert not anchor or anchor in anchors(target), f"{target.name} has no heading #{anchor}"


def test_every_page_on_design_is_in_its_index() -> None:
    index = DOCS / "design/index.md"
    linked = {path for path, _ in links(index)}
    assert [page.name for page in DESIGN if page != index and page.name not in linked] == []


def test_every_example_has_a_name_of_its_own() -> None:
    names = [example.name for page in pages() for example in examples(page)]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("example", PROGRAMS, ids=lambda example: example.name)
def test_a_program_prints_what_its_page_says(example: Example, capsys: pytest.CaptureFixture[str]) -> None:
    with MiniCluster.in_process():
        run_program(example)
    assert capsys.readouterr().out == example.output


@pytest.mark.spark
def test_programs_print_the_same_on_spark(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = [example for example in PROGRAMS if example.name in PROGRAMS_ON_SPARK]
    assert len(chosen) == len(PROGRAMS_ON_SPARK)
    with MiniCluster("local[2,4]"):
        capsys.readouterr()
        for example in chosen:
            run_program(example)
            assert capsys.readouterr().out == example.output, example.name


@pytest.mark.spark
def test_programs_on_tables_print_what_their_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    with MiniCluster("local[2,4]"):
        for example in examples(PAGE_ON_TABLES):
            capsys.readouterr()
            run_program(example)
            assert capsys.readouterr().out == example.output, example.name


@pytest.mark.parametrize(("example", "title"), [pytest.param(*p, id=p[0].name) for p in pictures()])
def test_a_picture_is_of_what_its_example_does(example: Example, title: str) -> None:
    committed = (PICTURES / f"{example.name}.svg").read_text(encoding="utf-8")
    assert committed == make(example, title), "run docs/make_pictures.py and look at the picture"


def test_every_window_trigger_evictor_and_join_has_a_picture() -> None:
    shown = "".join(example.code for example, _ in pictures())
    kinds = (window.WindowAssigner, window.Trigger, window.Evictor)
    public = [value for value in vars(window).values() if isinstance(value, type)]
    wanted = [kind.__name__ for kind in public if issubclass(kind, kinds) and not inspect.isabstract(kind)]
    assert len(wanted) > 20
    names = [WRITTEN_AS.get(name, name) for name in wanted if name != window.NeverTrigger.__name__]
    names += [".join(", ".co_group(", ".interval_join(", ".connect(", ".broadcast(", "allowed_lateness("]
    names += ["window_all(", "side_output_late_data(", "class EarlyAndLate(Trigger)"]
    assert [name for name in names if name not in shown] == []


def test_there_is_no_picture_that_no_page_shows() -> None:
    drawn = {path.stem for path in PICTURES.iterdir() if path.is_file()}
    assert drawn == {example.name for example, _ in pictures()}


def test_the_picture_of_an_epoch_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == EpochPicture().draw(), "run docs/make_epoch_picture.py"


@pytest.mark.parametrize("name", FILES)
def test_the_pictures_of_concepts_are_current(name: str) -> None:
    assert (PLACE / name).read_text(encoding="utf-8") == FILES[name](), "run docs/make_concept_pictures.py"
