"""The builders of PyFlink's names make the plain configuration of firesteel.connectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Duration, Encoder
from firesteel.common.errors import FiresteelError, UnsupportedFeatureError
from firesteel.common.typeinfo import Types
from firesteel.connectors.base import Boundedness
from firesteel.connectors.files import rolling, sink as file_sink
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors import DataGeneratorSource, RateLimiterStrategy, Sink, Source
from firesteel.datastream.connectors.base import StreamTransformer, SupportsPreprocessing
from firesteel.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from firesteel.testing.connectors import SinkRun


def rows(path: Path) -> Any:
    return FileSink.for_row_format(str(path), Encoder.simple_string_encoder())


def test_file_source(tmp_path: Path) -> None:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format("ISO-8859-1"), "/a", "/b")
    source = builder.process_static_file_set().build()
    plain: Any = source.wrapped_source
    assert (plain.paths, plain.discovery_interval_ms) == (("/a", "/b"), None)
    assert plain.boundedness is Boundedness.BOUNDED
    assert source.produced_type == Types.STRING()
    watching: Any = (
        builder.monitor_continuously(Duration.of_seconds(2))
        .set_file_enumerator(FileEnumeratorProvider.default_splittable_file_enumerator())
        .set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
        .build()
        .wrapped_source
    )
    assert watching.discovery_interval_ms == 2000
    assert watching.split_bytes == 64 << 20
    assert watching.boundedness is Boundedness.CONTINUOUS_UNBOUNDED


@pytest.mark.parametrize(
    "make",
    [
        lambda: FileSource.for_record_stream_format("text", "/a"),
        lambda: FileSource.for_record_stream_format(StreamFormat.text_line_format()),
        lambda: FileSource.for_record_stream_format(StreamFormat.text_line_format("no-such"), "/a").build(),
        lambda: FileSource.for_bulk_file_format(StreamFormat.text_line_format(), "/a"),
        lambda: FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), "/a"
        ).monitor_continuously(Duration.of_seconds(0)),
        lambda: Source("org.example.Source"),
        lambda: Sink(3),
        lambda: DataGeneratorSource(3),
        lambda: RateLimiterStrategy.per_second("5"),
        lambda: RateLimiterStrategy.per_checkpoint(5),
        lambda: FileSink.for_row_format("/a", "text"),
        lambda: OutputFileConfig("a/b", ""),
        lambda: RollingPolicy.default_rolling_policy(part_size=0),
        lambda: BucketAssigner.date_time_bucket_assigner("yyyy", "Nowhere/Land"),
    ],
)
def test_wrong_options_are_refused_when_they_are_given(make: Any) -> None:
    with pytest.raises(FiresteelError):
        make()


def test_file_sink(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    sink = (
        rows(tmp_path)
        .with_output_file_config(
            OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".ext").build()
        )
        .with_rolling_policy(RollingPolicy.default_rolling_policy(10, 20, 30))
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_bucket_check_interval(5)
        .disable_compact()
        .build()
    )
    stream = env.from_collection([1], type_info=Types.INT())
    plain: Any = stream.sink_to(sink)._transformation.sink
    assert plain.base_path == str(tmp_path)
    assert plain.type_info == Types.INT()
    assert plain.file_config == file_sink.PartNames("pre", ".ext")
    assert plain.rolling_policy == rolling.Rolling(10, 20, 30)
    assert plain.bucket_assigner == rolling.BasePathBuckets()
    again: Any = stream.map(str).sink_to(sink)._transformation.sink
    assert again.type_info is None
    assert again.id != plain.id  # two places in a program must not share their hidden files


def test_defaults_of_a_file_sink_are_flinks(tmp_path: Path) -> None:
    plain: Any = rows(tmp_path).build().sink_for(None)
    assert plain.file_config == file_sink.PartNames("part", "")
    assert plain.rolling_policy == rolling.Rolling(128 << 20, 60_000, 60_000)
    assert plain.bucket_assigner == rolling.DateTimeBuckets("yyyy-MM-dd--HH", None)
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    assert rows(tmp_path).with_rolling_policy(policy).build().sink_for(None).rolling_policy.on_every_commit


class ByLength(BucketAssigner):
    """A bucket of one's own, from the record and its time."""

    def get_bucket_id(self, element: Any, context: Any) -> str:
        return f"{len(element)}/{context.timestamp()}/{context.current_processing_time()}"


def test_a_bucket_assigner_of_ones_own(tmp_path: Path) -> None:
    plain: Any = rows(tmp_path / "out").with_bucket_assigner(ByLength()).build().sink_for(Types.STRING())
    run = SinkRun(plain, tmp_path).at(7)
    run.commit(run.stage(1, ["a", "bb", "b", "cc"]))
    run.finish()
    found = {str(p.parent.relative_to(tmp_path / "out")): p.read_text() for p in tmp_path.rglob("part-*")}
    assert found == {"1/None/7": "a\n", "2/None/7": "bb\n", "1/5/7": "b\n", "2/5/7": "cc\n"}
    with pytest.raises(FiresteelError, match="get_bucket_id"):
        rows(tmp_path).with_bucket_assigner(BucketAssigner())


def test_compaction_is_refused(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).set_size_threshold(9).build()
    with pytest.raises(UnsupportedFeatureError, match="not compacted"):
        rows(tmp_path).enable_compact(strategy, FileCompactor.concat_file_compactor())


def test_the_older_file_sink_is_deprecated(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    builder = StreamingFileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    with pytest.warns(DeprecationWarning, match="FileSink"):
        function = builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()
    plain: Any = env.from_collection([1]).add_sink(function)._transformation.sink
    assert isinstance(plain, file_sink.RowFileSink)
    assert plain.rolling_policy.on_every_commit


def test_generated_records() -> None:
    source = DataGeneratorSource(lambda i: i * 2, 10, RateLimiterStrategy.per_second(5), Types.LONG())
    plain: Any = source.wrapped_source
    assert (plain.count, plain.rate_per_second, source.produced_type) == (10, 5, Types.LONG())
    endless: Any = DataGeneratorSource(lambda i: i, 2**63 - 1).wrapped_source
    assert endless.boundedness is Boundedness.CONTINUOUS_UNBOUNDED


def test_a_sink_may_prepare_its_records(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    class Shouting(StreamTransformer):
        def apply(self, ds: Any) -> Any:
            return ds.map(str.upper).name("shout")

    class Loud(Sink, SupportsPreprocessing):
        def get_transformer(self) -> StreamTransformer:
            return Shouting()

    sink = Loud(rows(tmp_path).build().sink_for(None))
    made = env.from_collection(["a"]).sink_to(sink)._transformation
    assert made.inputs[0].name == "shout"
