import copy
import pickle

import pytest

from firesteel.common import Row, RowKind


def test_fields_by_position_name_and_attribute():
    row = Row(id=1, name="a")
    assert (row[0], row["name"], row.name, row[0:2], len(row), list(row)) == (
        1,
        "a",
        "a",
        [1, "a"],
        2,
        [1, "a"],
    )
    assert "id" in row
    assert "a" not in row
    assert "a" in Row(1, "a")  # without names: among the values


def test_repr_as_pyflink():
    assert repr(Row(id=1, name="a")) == "Row(id=1, name='a')"
    assert repr(Row(1, "a")) == "<Row(1, 'a')>"
    assert str(Row("id", "name")(1, "a")) == "Row(id=1, name='a')"
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]


def test_values_can_be_replaced_but_attributes_not_added():
    row = Row(id=1)
    row["id"] = 2
    row[0] += 1
    assert row.id == 3
    with pytest.raises(AttributeError):
        row.id = 4
    with pytest.raises(KeyError):
        Row(1)["id"] = 2


def test_missing_names():
    with pytest.raises(AttributeError):
        _ = Row(id=1).other
    with pytest.raises(ValueError, match="other"):
        Row(id=1)["other"]
    with pytest.raises(AttributeError):
        Row(1)["id"]
    with pytest.raises(ValueError, match="not from both"):
        Row(1, id=1)
    with pytest.raises(ValueError, match="names 1 fields"):
        Row("id")(1, 2)


def test_as_dict():
    row = Row(id=1, inner=Row(a=2), many=[Row(b=3)], by={"k": Row(c=4)})
    assert row.as_dict() == {"id": 1, "inner": Row(a=2), "many": [Row(b=3)], "by": {"k": Row(c=4)}}
    assert row.as_dict(True) == {"id": 1, "inner": {"a": 2}, "many": [{"b": 3}], "by": {"k": {"c": 4}}}
    with pytest.raises(TypeError):
        Row(1).as_dict()


def test_equality_is_by_name_and_kind():
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert Row(a=1, b=2) != Row(a=2, b=1)
    assert Row(a=1) != Row(b=1)
    assert Row(1) != Row(a=1)
    assert Row(1) != (1,)
    assert Row(1) != Row.of_kind(RowKind.DELETE, 1)
    assert hash(Row(1, 2)) == hash(Row(a=1, b=2)) == hash((1, 2))


def test_get_fields_by_names():
    assert Row(b=2, a=1).get_fields_by_names(["a", "b"]) == [1, 2]
    assert Row(2, 1).get_fields_by_names(["a", "b"]) == [2, 1]
    with pytest.raises(ValueError, match=r"\['c'\]"):
        Row(a=1).get_fields_by_names(["c"])


@pytest.mark.parametrize(
    "row", [Row(), Row(1, None), Row(a=1, b="x"), Row.of_kind(RowKind.UPDATE_AFTER, a=1)]
)
def test_pickle_and_copy_keep_everything(row):
    for other in (pickle.loads(pickle.dumps(row, 5)), copy.copy(row), copy.deepcopy(row)):
        assert other == row
        assert repr(other) == repr(row)
        assert other.get_row_kind() is row.get_row_kind()


def test_pickled_rows_share_their_names():
    names = ["a_rather_long_field_name"]
    rows = [Row(i) for i in range(100)]
    for row in rows:
        row.set_field_names(names)
    assert len(pickle.dumps(rows, 5)) < 100 * 30
