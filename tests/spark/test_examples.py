"""The examples in PyFlink's wheel, unchanged, print what PyFlink prints: ``tests/differential/reference``."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from tests.differential.comparison import EXAMPLES, REFERENCE, printed
from tests.differential.in_one_process import run_several
from tests.spark.support import firesteel, run, started
from tests.waiting import patience

pytestmark = pytest.mark.spark

CACHE = Path(__file__).parents[2] / ".cache" / "apache-flink-2.3.0"
PIP = (
    *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"),
    *("--python-version=3.11", "--platform=manylinux2014_x86_64"),
)
WORDS = {
    *("flink", "window", "timer", "event_time", "processing_time", "state", "connector", "pyflink"),
    *("checkpoint", "watermark", "sideoutput", "sql", "datastream", "broadcast", "asyncio", "catalog"),
    *("batch", "streaming"),
}


@pytest.fixture(scope="module")
def examples() -> Path:
    """The examples of the wheel; nothing else is taken out of it, and it is not installed."""
    directory = CACHE / "pyflink" / "examples" / "datastream"
    if not (directory / "word_count.py").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [*PIP, "apache-flink==2.3.0", "-d", CACHE],
            check=True,
            timeout=patience(240),
        )
        with zipfile.ZipFile(next(CACHE.glob("apache_flink-2.3.0-*.whl"))) as wheel:
            names = [n for n in wheel.namelist() if n.startswith("pyflink/examples/datastream/")]
            wheel.extractall(CACHE, names)
    return directory


@pytest.fixture(scope="module")
def outputs(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each of the examples prints that end."""
    files = {name: examples / f"{name}.py" for name in EXAMPLES}
    found = run_several(list(files.values()), tmp_path_factory.mktemp("examples"))
    return {name: found[file] for name, file in files.items()}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.row("S-DEPLOY-09")
def test_an_example_prints_what_pyflink_prints(outputs: dict[str, str], name: str) -> None:
    reference = REFERENCE / "examples" / f"{name}.txt"
    assert sorted(printed(outputs[name])) == reference.read_text("utf-8").splitlines()


@pytest.mark.row("S-BATCH-04")
def test_word_count_writes_its_result_to_files(examples: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("to be or\nnot to be\n")
    options = ["--input", "text", "--output", "counts"]
    done = run(firesteel("run", "--pyflink", examples / "word_count.py", *options), tmp_path)
    assert (done.code, done.out, done.complaints) == (0, "", "")
    (part,) = [path for path in (tmp_path / "counts").rglob("*") if path.is_file()]
    assert re.fullmatch(r"prefix-.+-0\.ext", part.name)
    assert sorted(part.read_text().splitlines()) == ["(be,2)", "(not,1)", "(or,1)", "(to,2)"]


def test_streaming_word_count_counts_until_it_is_interrupted(examples: Path, tmp_path: Path) -> None:
    begun = time.monotonic()
    with started(firesteel("run", "--pyflink", examples / "streaming_word_count.py"), tmp_path) as program:
        program.wait_for(lambda lines: len(lines) > 40)
        program.signal_group(signal.SIGINT)
        done = program.end()
    seconds = time.monotonic() - begun
    assert done.code == 130
    heading, *counted = done.lines
    assert heading == "Printing result to stdout. Use --output to specify output path."
    seen: Counter[str] = Counter()
    for line in counted:
        match = re.fullmatch(r"(?:\d+> )?\((\w+),(\d+)\)", line)
        assert match is not None, line
        word, count = match[1], int(match[2])
        seen[word] += 1
        assert count == seen[word], f"{word}: {count} after {seen[word] - 1}"
    assert set(seen) <= WORDS
    assert 40 <= len(counted) <= 5 * seconds, "5 words a second"


def test_remote_model_inference_asks_for_each_row_until_it_is_interrupted(
    examples: Path, tmp_path: Path
) -> None:
    """Rows, waiting times and failures are random, so there is no reference; this is what is certain. How
    many rows have no answer within the example's ten seconds depends on the machine: it gets an hour."""
    text = (examples / "asyncio" / "remote_model_inference.py").read_text("utf-8")
    assert text.count("timeout=Time.seconds(10)") == 1
    script = tmp_path / "remote_model_inference.py"
    script.write_text(text.replace("timeout=Time.seconds(10)", "timeout=Time.seconds(3600)"), "utf-8")
    with started(firesteel("run", "--pyflink", script), tmp_path) as program:
        program.wait_for(lambda lines: len(lines) > 300)
        program.signal_group(signal.SIGINT)
        done = program.end()
    assert done.code == 130
    heading, *answers = map(str, done.lines)
    assert heading == "Printing result to stdout. Use --output to specify output path."
    rows = [json.loads(re.sub(r"^\d+> ", "", line)) for line in answers]
    for row in rows:
        assert list(row) == ["user_id", "comments", "analysis_result"]
        assert -(2**31) <= row["user_id"] < 2**31
        assert re.fullmatch(r"[0-9a-f]{100}", row["comments"])
        assert row["analysis_result"] == "positive", "a request that has failed is made again"
    assert len({row["comments"] for row in rows}) == len(rows), (
        "each row once, however often it was asked for"
    )
