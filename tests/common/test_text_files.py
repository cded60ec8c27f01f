"""Files that users write are in UTF-8, or an error says where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from firesteel.cli import main
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.text_files import text_of
from firesteel.table.plan_reference import PlanReference


def test_a_file_in_another_encoding_is_an_error_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"a: 1\nb: \xe9\n")
    with pytest.raises(ConfigurationError, match=r"config\.yaml is not in UTF-8") as raised:
        Configuration.load(file)
    assert "line 2 has the byte 0xe9" in str(raised.value)
    with pytest.raises(ConfigurationError, match="The plan"):
        PlanReference.from_file(file)._text()


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"\xef\xbb\xbfparallelism.default: 3\n")
    assert Configuration.load(file).to_dict() == {"parallelism.default": "3"}
    assert text_of(file, "it").startswith("par")


def test_statements_are_in_utf_8_whatever_the_language(tmp_path: Path) -> None:
    file = tmp_path / "script.sql"
    file.write_bytes("SET 'a' = '\xe9';\n".encode("latin-1"))
    done = CliRunner().invoke(main, ["sql", "-f", str(file)])
    assert done.exit_code != 0
    assert "is not in UTF-8" in done.output
    assert "Traceback" not in done.output
