"""What one application of Spark keeps of the jobs of several processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from firesteel.spark.shared import forget_files


def given(session: SparkSession) -> set[str]:
    """The names of the files that each task gets."""
    context: Any = session.sparkContext
    return {url.rpartition("/")[2] for url in context.listFiles}


def test_files_of_a_job_that_has_gone_are_given_to_no_other(
    spark_session: SparkSession, tmp_path: Path
) -> None:
    """Broken by hand: on executors of other machines each job but the first fails: files of the first
    one are not found."""
    before = given(spark_session)
    names = ["job1-a.zip", "job1-b.zip", "job10-a.zip", "data.txt"]
    for name in names:
        (tmp_path / name).write_text(name)
        spark_session.sparkContext.addFile(str(tmp_path / name))
    assert given(spark_session) == before | set(names)
    forget_files(spark_session, "job1-")
    assert given(spark_session) == before | {"job10-a.zip", "data.txt"}
    for prefix in ("job1", "data"):
        forget_files(spark_session, prefix)
    assert given(spark_session) == before
    forget_files(spark_session, "job1-")
