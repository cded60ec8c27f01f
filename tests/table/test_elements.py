"""What becomes of the Python values of ``from_elements``."""

from __future__ import annotations

import datetime
from array import array
from typing import Any

import pytest

from firesteel.common import Row, RowKind
from firesteel.common.errors import ProgramError
from firesteel.table import DataTypes, UserDefinedType
from firesteel.table.expressions import col
from tests.table.support import rows, tables


class ColourType(UserDefinedType):
    """Stored as its three parts."""

    @classmethod
    def sql_type(cls) -> Any:
        return DataTypes.ARRAY(DataTypes.INT())

    def serialize(self, obj: Any) -> Any:
        return [obj.red, obj.green, obj.blue]


class Colour:
    __UDT__ = ColourType()

    def __init__(self, red: int, green: int, blue: int) -> None:
        self.red, self.green, self.blue = red, green, blue


_COLOUR = DataTypes.ROW(
    [
        DataTypes.FIELD("name", DataTypes.STRING()),
        DataTypes.FIELD("colour", ColourType()),
        DataTypes.FIELD("shades", DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(ColourType()))),
    ]
)


@pytest.mark.row("S-SQL-02")
def test_objects_of_a_declared_user_type_are_stored_as_it_says() -> None:
    with tables() as t:
        found = t.from_elements(
            [("leaf", Colour(10, 120, 30), {"dark": [Colour(5, 60, 15), None]}), ("air", None, None)], _COLOUR
        )
        assert rows(found) == [
            ("leaf", [10, 120, 30], {"dark": [[5, 60, 15], None]}),
            ("air", None, None),
        ]


@pytest.mark.row("S-SQL-02")
def test_objects_of_a_user_type_are_found_without_a_schema() -> None:
    with tables() as t:
        found = t.from_elements([Row(name="leaf", colours=[Colour(1, 2, 3)])])
        assert str(found.get_schema()) == "root\n |-- name: STRING\n |-- colours: ARRAY<ARRAY<INT>>\n"
        assert rows(found) == [("leaf", [[1, 2, 3]])]


def test_another_object_is_no_object_of_the_user_type() -> None:
    with tables() as t, pytest.raises(ProgramError, match=r"\[1, 2, 3\] is not an object of the type Colour"):
        t.from_elements([("leaf", [1, 2, 3], None)], _COLOUR)


@pytest.mark.row("S-SQL-02")
def test_arrays_of_numbers_have_the_type_of_their_code() -> None:
    numbers = [array("b", [-7]), array("B", [255]), array("i", [1, 2]), array("I", [1]), array("d", [0.5])]
    with tables() as t:
        found = t.from_elements([tuple(numbers)], ["a", "b", "c", "d", "e"])
        types = [str(column.element_type) for column in found.get_schema().get_field_data_types()]
        assert types == ["TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE"]
        assert rows(found) == [([-7], [255], [1, 2], [1], [0.5])]


def test_an_array_of_numbers_that_no_type_holds_is_refused() -> None:
    with tables() as t, pytest.raises(TypeError, match=r"array\(Q\)"):
        t.from_elements([(array("Q", [1]), 1)], ["a", "b"])


class Reading:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


@pytest.mark.parametrize(
    "element",
    [{"sensor": "s1"}, {"sensor": "s1", "unit": "K"}, Reading(sensor="s1"), Reading(sensor="s1", unit="K")],
)
def test_what_a_dict_or_an_object_has_not_is_null_and_what_it_has_beside_is_left_out(element: Any) -> None:
    schema = DataTypes.ROW(
        [DataTypes.FIELD("sensor", DataTypes.STRING()), DataTypes.FIELD("value", DataTypes.INT())]
    )
    with tables() as t:
        assert rows(t.from_elements([element], schema)) == [("s1", None)]


def test_what_a_row_has_beside_the_declared_fields_is_left_out() -> None:
    inner = DataTypes.ROW([DataTypes.FIELD("b", DataTypes.INT())])
    schema = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("r", inner)])
    with tables() as t:
        found = t.from_elements([Row(x=0, a=1, r=Row(y=0, b=2))], schema)
        assert rows(found) == [(1, Row(2))]


@pytest.mark.row("S-SQL-02")
def test_collected_floats_have_their_shortest_digits() -> None:
    of_floats = DataTypes.ARRAY(DataTypes.FLOAT())
    schema = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.FLOAT()), DataTypes.FIELD("b", of_floats)])
    with tables() as t:
        assert rows(t.from_elements([(0.1, [1.23, None]), (None, None)], schema)) == [
            (0.1, [1.23, None]),
            (None, None),
        ]


def test_collected_rows_are_equal_to_rows_without_names() -> None:
    with tables() as t, t.from_elements([(1, Row(2, "x"))], ["a", "r"]).execute().collect() as found:
        (row,) = found
        assert row == Row(1, Row(2, "x"))
        assert Row(1, Row(2, "x")) == row
        assert row != Row(1, Row(3, "x"))
        assert row != Row.of_kind(RowKind.DELETE, 1, Row(2, "x"))


@pytest.mark.row("S-SQL-01")
def test_datetimes_are_instants_where_no_schema_says_otherwise() -> None:
    """As in PyFlink: one without a zone is one in UTC, whatever the zones of session and machine are."""
    naive = datetime.datetime(2020, 1, 2, 3, 4, 5, 678901)
    row = (naive, naive.replace(tzinfo=datetime.UTC), [naive])
    with tables() as t:
        t.get_config().set_local_timezone("Asia/Tokyo")
        found = t.from_elements([row], ["n", "a", "l"])
        assert [str(column) for column in found.get_resolved_schema().get_columns()] == [
            "`n` TIMESTAMP_LTZ(6)",
            "`a` TIMESTAMP_LTZ(6)",
            "`l` ARRAY<TIMESTAMP_LTZ(6)>",
        ]
        texts = found.select(col("n").cast(DataTypes.STRING()), col("a").cast(DataTypes.STRING()))
        assert rows(texts) == [("2020-01-02 12:04:05.678901", "2020-01-02 12:04:05.678901")]
