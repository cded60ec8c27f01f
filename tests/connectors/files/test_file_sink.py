from __future__ import annotations

import copy
import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partialmethod
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from firesteel.common.typeinfo import Types
from firesteel.connectors import Committable
from firesteel.connectors.files import part_store as _part_store
from firesteel.connectors.files.rolling import BasePathBuckets, CustomBuckets, DateTimeBuckets, Rolling
from firesteel.connectors.files.sink import PartNames, RowFileSink
from firesteel.storage import filesystems as _storage
from firesteel.testing.connectors import SinkRun, check_sink

NEVER = Rolling(1 << 40, 1 << 40, 1 << 40)
ALWAYS = Rolling(on_every_commit=True)
HOUR_MS = 3_600_000


def sink_to(base: Path | str, **options: Any) -> RowFileSink:
    options.setdefault("bucket_assigner", BasePathBuckets())
    options.setdefault("rolling_policy", NEVER)
    return RowFileSink(str(base), Encoder.simple_string_encoder(), Types.STRING(), **options)


def visible_files(base: Path) -> dict[str, str]:
    found = {}
    for directory, names, files in os.walk(base):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            if not name.startswith("."):
                path = Path(directory, name)
                found[str(path.relative_to(base))] = path.read_text()
    return found


def records_in(base: Path) -> list[str]:
    return sorted(line for text in visible_files(base).values() for line in text.splitlines())


def hidden(base: Path) -> list[str]:
    return [name for name in os.listdir(base) if name.startswith(".")]


@pytest.fixture(params=["local", "s3", "hdfs"])
def base(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """The base path as a sink gets it, and where its files are."""
    root = tmp_path / "out"
    if request.param == "local":
        return str(root), root
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    root.mkdir()
    remote = SubTreeFileSystem(str(root), LocalFileSystem())
    monkeypatch.setattr(_storage, "_arrow_root", lambda root: (remote, ""))
    return f"{request.param}://bucket", root


@pytest.mark.parametrize("policy", [NEVER, ALWAYS, Rolling(part_size=3)])
@pytest.mark.row("S-SINK-15", "S-SINK-16", "S-CONN-10")
def test_contract(base: tuple[str, Path], tmp_path: Path, policy: Rolling) -> None:
    path, root = base
    check_sink(
        SinkRun(sink_to(path, rolling_policy=policy), tmp_path), lambda: records_in(root), list("abcdef")
    )
    assert hidden(root) == [], "nothing is left of aborted attempts"


@pytest.mark.row("S-SINK-15")
def test_names_as_flink(tmp_path: Path) -> None:
    base = tmp_path / "out"
    config = PartNames("pre", ".ext")
    run = SinkRun(sink_to(base, file_config=config, rolling_policy=ALWAYS), tmp_path, 2)
    for epoch in range(2):
        run.commit([*run.stage(epoch, ["a"], 0), *run.stage(epoch, ["b"], 1)])
    run.finish()
    names = [re.fullmatch(r"pre-([0-9a-f-]{36})-(\d+)\.ext", name) for name in visible_files(base)]
    assert all(names)
    assert len({match[1] for match in names if match}) == 2
    assert sorted(match[2] for match in names if match) == ["0", "0", "1", "1"]


def test_a_single_chunk_is_moved_not_copied(tmp_path: Path) -> None:
    base = tmp_path / "out"
    run = SinkRun(sink_to(base), tmp_path)
    staged = run.stage(1, ["a", "b"])
    chunk = staged[0].payload
    inode = os.stat(os.path.join(chunk.staging, chunk.chunks[0].name)).st_ino
    run.commit(staged)
    run.finish()
    (name,) = visible_files(base)
    assert os.stat(base / name).st_ino == inode


def test_rolling_by_size_age_and_inactivity(tmp_path: Path) -> None:
    base = tmp_path / "out"
    run = SinkRun(sink_to(base, rolling_policy=Rolling(8, 100, 30)), tmp_path)
    run.commit(run.at(1000).stage(1, ["a"]))
    run.commit(run.at(1010).stage(2, ["b"]))
    assert visible_files(base) == {}
    run.commit(run.at(1015).stage(3, ["cccc"]))  # nine bytes
    assert list(visible_files(base).values()) == ["a\nb\ncccc\n"]
    run.commit(run.at(1020).stage(4, ["d"]))
    run.commit(run.at(1049).stage(5, []))
    assert len(visible_files(base)) == 1
    run.commit(run.at(1050).stage(6, []))
    assert len(visible_files(base)) == 2
    for epoch, now in enumerate(range(2000, 2101, 20), start=7):
        assert len(visible_files(base)) == 2
        run.commit(run.at(now).stage(epoch, [""]))
    assert len(visible_files(base)) == 3


def test_rolling_by_size_between_two_commits(base: tuple[str, Path], tmp_path: Path) -> None:
    """A checkpoint covers many epochs, and an epoch many records: neither makes a part file larger than its
    limit and a batch."""
    path, root = base
    run = SinkRun(sink_to(path, rolling_policy=Rolling(4, 1 << 40, 1 << 40)), tmp_path)
    run.commit([c for epoch in range(1, 6) for c in run.stage(epoch, ["a", "b"])])
    assert sorted(visible_files(root).values()) == ["a\nb\n"] * 5
    writer = run.writer(6)
    for _ in range(4):
        writer.write_batch(["cc"], None)
    run.commit([Committable(0, 6, payload) for payload in writer.prepare_commit()])
    assert sorted(visible_files(root).values())[5:] == ["cc\ncc\n"] * 2
    run.finish()
    assert records_in(root) == ["a"] * 5 + ["b"] * 5 + ["cc"] * 4


def test_files_that_were_full_go_with_their_attempt(tmp_path: Path) -> None:
    run = SinkRun(sink_to(tmp_path / "out", rolling_policy=Rolling(2)), tmp_path)
    writer = run.writer(1)
    for value in "abc":
        writer.write_batch([value], None)
    assert len(list((tmp_path / "out").rglob("*.chunk"))) == 3
    writer.abort()
    assert list((tmp_path / "out").rglob("*.chunk")) == []


def test_buckets(tmp_path: Path) -> None:
    base = tmp_path / "out"
    offset = 3
    buckets = CustomBuckets(lambda value, context: f"k={value[:1]}/t={(context.timestamp() or 0) + offset}")
    run = SinkRun(sink_to(base, bucket_assigner=buckets), tmp_path)
    run.commit(run.stage(1, ["a1", "b1", "a2", "b2"]))
    run.finish()
    found = {os.path.dirname(name): text for name, text in visible_files(base).items()}
    assert found == {"k=a/t=3": "a1\n", "k=b/t=3": "b1\n", "k=a/t=8": "a2\n", "k=b/t=8": "b2\n"}


@pytest.mark.parametrize("bucket", ["/etc", "a/../../b", 3])
def test_bad_buckets(tmp_path: Path, bucket: Any) -> None:
    run = SinkRun(sink_to(tmp_path / "out", bucket_assigner=CustomBuckets(lambda v, t: bucket)), tmp_path)
    with pytest.raises(ConfigurationError, match="not a bucket"):
        run.stage(1, ["a", "b"])


def test_date_time_buckets(tmp_path: Path) -> None:
    base = tmp_path / "out"
    run = SinkRun(sink_to(base, bucket_assigner=DateTimeBuckets(zone="UTC")), tmp_path)
    first = run.at(0).stage(1, ["a"])
    staged = run.at(HOUR_MS).stage(2, ["b"])
    run.at(2 * HOUR_MS).commit([*first, *staged])
    run.at(3 * HOUR_MS).commit(staged)
    run.at(4 * HOUR_MS).finish()
    found = {os.path.dirname(name): text for name, text in visible_files(base).items()}
    assert found == {"1970-01-01--00": "a\n", "1970-01-01--01": "b\n"}


@pytest.mark.parametrize(
    ("pattern", "zone", "expected"),
    [
        ("yyyy-MM-dd--HH", "GMT+02:00", "1970-01-01--02"),
        ("'day='yyyyMMdd/'h='HH", "America/New_York", "day=19691231/h=19"),
        ("yy.DDD''%mm", "UTC", "70.001'%00"),
    ],
)
def test_date_patterns(pattern: str, zone: str, expected: str) -> None:
    assert DateTimeBuckets(pattern, zone).bucket_at(0) == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: DateTimeBuckets("yyyy-QQ"),
        lambda: DateTimeBuckets("yyyy'"),
        lambda: DateTimeBuckets(zone="Mars/Base"),
        lambda: Rolling(part_size=0),
        lambda: PartNames("_x"),
        lambda: PartNames("a/b"),
        lambda: RowFileSink("", Encoder.simple_string_encoder()),
        lambda: RowFileSink("x", Lengths()),
    ],
)
def test_bad_options(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError):
        make()


def test_base_path_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigurationError, match="is a file"):
        sink_to(tmp_path / "out").validate()


class Lengths(BulkWriterFactory):
    """A format with a footer: it cannot be appended to."""

    class Writer(BulkWriter):
        def __init__(self, stream: BinaryIO) -> None:
            self._stream, self._count = stream, 0

        def add_element(self, element: Any) -> None:
            self._count += 1
            self._stream.write(f"{element}\n".encode())

        def flush(self) -> None:
            pass

        def finish(self) -> None:
            self._stream.write(f"total {self._count}\n".encode())

    def create(self, stream: BinaryIO) -> BulkWriter:
        return self.Writer(stream)


def test_bulk_formats(tmp_path: Path) -> None:
    base = tmp_path / "out"
    sink = RowFileSink(str(base), Lengths(), rolling_policy=ALWAYS, bucket_assigner=BasePathBuckets())
    run = SinkRun(sink, tmp_path)
    run.commit(run.stage(1, ["a", "b"]))
    run.commit(run.stage(2, ["c"]))
    assert sorted(visible_files(base).values()) == ["a\nb\ntotal 2\n", "c\ntotal 1\n"]
    run.commit([*run.stage(3, ["d"]), *run.stage(4, ["e"])])  # of one checkpoint
    run.finish()
    assert sorted(visible_files(base).values())[2:] == ["d\ntotal 1\n", "e\ntotal 1\n"]


class Crash(Exception):
    pass


def crash_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """The n-th thing that the committer does to the file system does not happen, and nothing after it."""
    count = 0

    def guard(function: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count >= step:
                raise Crash
            return function(*args, **kwargs)

        return guarded

    for kind in (_storage.LocalStorage, _storage.ArrowStorage):
        for name in ("write_whole", "delete", "delete_tree"):
            monkeypatch.setattr(kind, name, guard(getattr(kind, name)))
    monkeypatch.setattr(os, "replace", guard(os.replace))


@pytest.mark.parametrize("policy", [NEVER, ALWAYS, Rolling(part_size=5)])
@pytest.mark.parametrize("new_program", [False, True])
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.row("S-SINK-15")
def test_a_crash_anywhere_loses_and_doubles_nothing(
    base: tuple[str, Path], tmp_path: Path, policy: Rolling, new_program: bool, together: bool
) -> None:
    """``together``: one checkpoint covers both epochs, and a part file is full between them."""
    path, root = base
    wanted = ["a", "b", "c", "d", "e", "f"]
    for step in range(1, 40):
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        sink = sink_to(path, rolling_policy=policy)
        run = SinkRun(sink, tmp_path)
        run.commit(run.stage(1, ["a", "b"]))
        run.stage(2, ["x"])  # of an attempt that was lost
        second, third = run.stage(2, ["c", "d"]), run.stage(3, ["e", "f"])
        crashed = False
        with pytest.MonkeyPatch.context() as patch:
            crash_at(patch, step)
            try:
                for staged in [[*second, *third]] if together else [second, third]:
                    run.commit(staged)
                run.finish()
            except Crash:
                crashed = True
            seen = records_in(root)
            assert set(seen) <= set(wanted)
            assert len(set(seen)) == len(seen)
        again = SinkRun(sink_to(path, rolling_policy=policy) if new_program else sink, tmp_path)
        again.commit(second)  # whatever was committed before is committed again
        again.commit(third)
        again.finish()
        assert records_in(root) == wanted, f"crash at step {step}"
        if not crashed:
            assert step > 3
            return
    raise AssertionError("the commit never ended")


def before_step(monkeypatch: pytest.MonkeyPatch, step: int, act: Callable[[], None]) -> list[int]:
    """``act`` comes between two things that a committer does to the file system, before the n-th. The list
    has how many there were before it."""
    seen: list[int] = []

    def guard(function: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            seen.append(1)
            if len(seen) == step:
                act()
            return function(*args, **kwargs)

        return guarded

    for kind in (_storage.LocalStorage, _storage.ArrowStorage):
        for name in ("info", "list_dir", "open_input", "write_whole", "delete", "delete_tree"):
            monkeypatch.setattr(kind, name, guard(getattr(kind, name)))
    for module, name in ((os, "replace"), (os, "fsync"), (os.path, "exists")):
        monkeypatch.setattr(module, name, guard(getattr(module, name)))
    monkeypatch.setattr(_part_store, "open", guard(open), raising=False)
    return seen


@pytest.mark.parametrize("policy", [NEVER, ALWAYS, Rolling(part_size=5)])
@pytest.mark.parametrize("replaced_is_slow", [False, True])
def test_a_replaced_driver_may_be_in_the_middle_of_its_last_commit(
    base: tuple[str, Path], tmp_path: Path, policy: Rolling, replaced_is_slow: bool
) -> None:
    """Whatever either of the two drivers has come to when the other one does all that it has to do."""
    path, root = base
    for step in range(1, 200):
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        old = SinkRun(sink_to(path, rolling_policy=policy), tmp_path, run="old")
        old.commit(old.stage(1, ["a", "b"]))
        assert old.committer is not None
        state, pending = old.committer.snapshot(), old.stage(2, ["c", "d"])
        new = SinkRun(sink_to(path, rolling_policy=policy), tmp_path, run="new")
        assert new.committer is not None
        new.committer.restore(state)
        later = new.stage(3, ["e", "f"])

        def finish_old(old: SinkRun = old, pending: Any = pending) -> None:
            with suppress(FiresteelError, OSError):  # it is fenced, and ends
                old.commit(pending)

        def run_new(new: SinkRun = new, pending: Any = pending, later: Any = later) -> None:
            assert new.committer is not None
            for attempt in range(2):
                try:
                    new.committer.open()
                    new.commit(pending, recovered=True)
                    new.commit(later)
                    return
                except (FiresteelError, OSError):  # the job is restarted
                    assert attempt == 0

        first, other = (finish_old, run_new) if replaced_is_slow else (run_new, finish_old)
        with pytest.MonkeyPatch.context() as patch:
            seen = before_step(patch, step, other)
            first()
        if len(seen) < step:
            other()
        new.finish()
        assert records_in(root) == ["a", "b", "c", "d", "e", "f"], f"the other one came before step {step}"
        if len(seen) < step:
            assert step > 3
            return
    raise AssertionError("the commit never ended")


def test_a_crash_while_the_hidden_directory_is_removed(
    base: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job has ended, and nobody has noted it: the next driver commits what was committed."""
    path, root = base
    sink = sink_to(path)
    run = SinkRun(sink, tmp_path)
    run.stage(1, ["x"])  # of an attempt that was lost
    staged = run.stage(1, ["a"])
    run.commit(staged)

    def dying(storage: Any, directory: str, delete: Callable[[Any, str], None]) -> None:
        journals = [info for info in storage.list_dir(directory) if info.name.startswith("journal")]
        for info in journals:
            storage.delete(info.path)
        if not storage.is_local and not storage.list_dir(directory):
            delete(storage, directory)  # an object store has no empty directories
        if journals:
            raise Crash

    with monkeypatch.context() as patch:
        for kind in (_storage.LocalStorage, _storage.ArrowStorage):
            patch.setattr(kind, "delete_tree", partialmethod(dying, delete=kind.delete_tree))
        with pytest.raises(Crash):
            run.finish()
    again = SinkRun(sink, tmp_path)
    again.commit(staged)
    again.finish()
    assert records_in(root) == ["a"]
    assert hidden(root) == []


@pytest.mark.row("S-SINK-01", "S-SAVE-05")
def test_a_driver_dies_when_a_job_that_is_stopped_has_made_all_visible(
    base: tuple[str, Path], tmp_path: Path
) -> None:
    """The next one goes on from the last checkpoint, and has more to write: to other files."""
    path, root = base
    sink = sink_to(path)
    run = SinkRun(sink, tmp_path)
    first = run.stage(1, ["a"])
    run.commit(first)
    assert run.committer is not None
    run.committer.finish()
    assert records_in(root) == ["a"]
    again = SinkRun(sink, tmp_path)
    again.commit(first)
    again.commit(again.stage(2, ["b"]))
    again.finish()
    assert records_in(root) == ["a", "b"]
    assert hidden(root) == []


def test_what_a_crash_appended_is_cut_off(tmp_path: Path) -> None:
    base = tmp_path / "out"
    sink = sink_to(base)
    run = SinkRun(sink, tmp_path)
    run.commit(run.stage(1, ["a"]))
    (part,) = [name for name in hidden(base) if name.endswith(".inprogress")]
    with open(base / part, "ab") as file:
        file.write(b"half a li")
    run = SinkRun(sink, tmp_path)
    run.commit(run.stage(2, ["b"]))
    run.finish()
    assert list(visible_files(base).values()) == ["a\nb\n"]


def test_a_part_file_that_was_taken_away_is_not_missed(base: tuple[str, Path], tmp_path: Path) -> None:
    path, root = base
    sink = sink_to(path, rolling_policy=ALWAYS)
    run = SinkRun(sink, tmp_path)
    staged = run.stage(1, ["a"])
    run.commit(staged)
    (name,) = visible_files(root)
    os.remove(root / name)
    again = SinkRun(sink, tmp_path)
    again.commit(staged)
    again.finish()
    assert visible_files(root) == {}


def test_staged_data_that_is_gone_is_an_error(tmp_path: Path) -> None:
    run = SinkRun(sink_to(tmp_path / "out"), tmp_path)
    run.commit(run.stage(1, ["a"]))
    staged = run.stage(2, ["b"])
    payload = staged[0].payload
    os.remove(os.path.join(payload.staging, payload.chunks[0].name))
    with pytest.raises(FiresteelError, match="gone"):
        run.commit(staged)


def test_two_sinks_under_one_path(tmp_path: Path) -> None:
    base = tmp_path / "out"
    one, two = SinkRun(sink_to(base), tmp_path), SinkRun(sink_to(base), tmp_path)
    one.commit(one.stage(1, ["a"]))
    two.commit(two.stage(1, ["b"]))
    one.finish()
    assert records_in(base) == ["a"]
    two.commit(two.stage(2, ["c"]))
    two.finish()
    assert records_in(base) == ["a", "b", "c"]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=6),
    st.sampled_from([NEVER, ALWAYS, Rolling(part_size=4)]),
    st.sets(st.integers(0, 6)),
)
def test_any_run(tmp_path_factory, epochs: Sequence[Sequence[int]], policy, restarts) -> None:  # type: ignore[no-untyped-def]
    tmp_path = tmp_path_factory.mktemp("s")
    base = tmp_path / "out"
    run = SinkRun(
        sink_to(base, rolling_policy=policy, bucket_assigner=CustomBuckets(lambda v, t: v)), tmp_path, 2
    )
    for epoch, values in enumerate(epochs):
        staged = [*run.stage(epoch, [str(v) for v in values], 0), *run.stage(epoch, ["9"], 1)]
        run.commit(staged)
        if epoch in restarts:
            run.restart()
            run.commit(copy.deepcopy(staged))
    run.finish()
    expected = [str(v) for values in epochs for v in values] + ["9"] * len(epochs)
    assert records_in(base) == sorted(expected)
    for name, text in visible_files(base).items():
        assert set(text.split()) <= {os.path.dirname(name)}


def test_journal_stays_small(tmp_path: Path) -> None:
    base = tmp_path / "out"
    sink = sink_to(base)
    run = SinkRun(sink, tmp_path)
    sizes = []
    for epoch in range(30):
        run.commit(run.stage(epoch, ["a"]))
        (journal,) = (base / f".firesteel-{sink.id}").iterdir()
        sizes.append(len(journal.read_bytes()))
        assert json.loads(journal.read_text())["epoch"] == epoch
    assert max(sizes[1:]) < 1.1 * min(sizes)
