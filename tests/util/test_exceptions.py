"""The errors that programs for PyFlink catch by their names."""

from __future__ import annotations

import pytest

from firesteel.common.errors import FiresteelError, ProgramError
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, Schema, StreamTableEnvironment, TableDescriptor
from firesteel.util import exceptions

#: All classes of pyflink.util.exceptions of PyFlink 2.3.0.
NAMES = {
    *("CatalogException", "DatabaseAlreadyExistException", "DatabaseNotEmptyException"),
    *("DatabaseNotExistException", "FunctionAlreadyExistException", "FunctionNotExistException"),
    *("JavaException", "ModelAlreadyExistException", "ModelNotExistException"),
    *("PartitionAlreadyExistsException", "PartitionNotExistException", "PartitionSpecInvalidException"),
    *("TableAlreadyExistException", "TableException", "TableNotExistException"),
    "TableNotPartitionedException",
}


def test_all_names_of_pyflink_are_there() -> None:
    assert set(exceptions.__all__) == NAMES
    for name in NAMES:
        error = getattr(exceptions, name)("what happened", detail="where")
        assert isinstance(error, exceptions.JavaException)
        assert isinstance(error, FiresteelError)
        assert error.stack_trace == str(error)


def test_tables_that_are_there_or_are_not() -> None:
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    schema = Schema.new_builder().column("id", DataTypes.INT()).build()
    descriptor = TableDescriptor.for_connector("datagen").schema(schema).build()
    tables.create_temporary_table("t", descriptor)
    with pytest.raises(exceptions.TableAlreadyExistException, match="`t`' already exists") as refused:
        tables.create_temporary_table("t", descriptor)
    assert isinstance(refused.value, ProgramError)
    with pytest.raises(exceptions.TableNotExistException, match="`other` was not found"):
        tables.from_path("other")
    # As in Flink, a connector is looked for when its table is used.
    tables.create_temporary_table("k", TableDescriptor.for_connector("nosuch").schema(schema).build())
    with pytest.raises(exceptions.TableException, match="any factory for identifier 'nosuch'"):
        tables.execute_sql("SELECT * FROM k")
