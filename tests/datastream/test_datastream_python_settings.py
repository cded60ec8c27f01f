"""What the ``python.*`` settings name is looked for before Spark starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from firesteel.common import Configuration
from firesteel.common.errors import PathNotFoundError, UnsupportedFeatureError
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.program.python_settings import check_python_settings


@pytest.mark.parametrize("key", ["python.files", "python.archives", "python.requirements"])
def test_a_file_that_is_not_there_is_named_before_the_job_runs(key: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing.zip"
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({key: f"{missing}#data"})
    )
    env.from_collection([1]).print()
    with pytest.raises(PathNotFoundError, match="is not there") as failed:
        env.execute()
    assert failed.value.operator == key
    assert failed.value.detail == str(missing)
    missing.touch()
    check_python_settings(Configuration.from_dict({key: str(missing)}))
    check_python_settings(Configuration.from_dict({key: "hdfs://somewhere/file.zip"}))


@pytest.mark.parametrize("key", ["python.executable", "python.client.executable"])
def test_another_python_is_refused(key: str) -> None:
    check_python_settings(Configuration.from_dict({key: sys.executable}))
    for other in ("/bin/sh", "/not/there", "python-of-no-kind"):
        with pytest.raises(UnsupportedFeatureError, match="cannot be chosen") as refused:
            check_python_settings(Configuration.from_dict({key: other}))
        assert refused.value.operator == key
