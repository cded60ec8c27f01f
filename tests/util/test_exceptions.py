"""The errors that programs for PyFlink catch by their names."""

from __future__ import annotations

import pytest

from firesteel.common.errors import FiresteelError, ProgramError
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import (
    DataTypes,
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
    TableDescriptor,
    TableEnvironment,
)
from firesteel.table.catalog import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogPartition,
    CatalogPartitionSpec,
    ObjectPath,
)
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


class Rooms:
    """A catalog with one database, in which is nothing yet."""

    def __init__(self) -> None:
        tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        tables.execute_sql("CREATE CATALOG house WITH ('type' = 'generic_in_memory')")
        found = tables.get_catalog("house")
        assert found is not None
        self.catalog = found
        self.catalog.create_database("cellar", CatalogDatabase.create_instance({}), False)
        self.shelf, self.nowhere = ObjectPath("cellar", "shelf"), ObjectPath("attic", "box")

    def table(self, *partition_keys: str) -> CatalogBaseTable:
        schema = Schema.new_builder().column("id", DataTypes.INT()).column("day", DataTypes.STRING()).build()
        return CatalogBaseTable.create_table(schema, list(partition_keys), {}, "")


ROOM = CatalogPartitionSpec({"day": "monday"})

#: What is done in a catalog, and what is caught.
REFUSED = {
    "database-missing": ("DatabaseNotExistException", lambda r: r.catalog.get_database("attic")),
    "database-there": (
        "DatabaseAlreadyExistException",
        lambda r: r.catalog.create_database("cellar", CatalogDatabase.create_instance({}), False),
    ),
    "list-nowhere": ("DatabaseNotExistException", lambda r: r.catalog.list_functions("attic")),
    "create-nowhere": (
        "DatabaseNotExistException",
        lambda r: r.catalog.create_table(r.nowhere, r.table(), False),
    ),
    "table-missing": ("TableNotExistException", lambda r: r.catalog.get_table(r.shelf)),
    "table-nowhere": ("TableNotExistException", lambda r: r.catalog.drop_table(r.nowhere, False)),
    "function-missing": ("FunctionNotExistException", lambda r: r.catalog.get_function(r.shelf)),
    "function-nowhere": ("FunctionNotExistException", lambda r: r.catalog.drop_function(r.nowhere, False)),
    "model-missing": ("ModelNotExistException", lambda r: r.catalog.get_model(r.shelf)),
    "model-nowhere": ("ModelNotExistException", lambda r: r.catalog.rename_model(r.nowhere, "x", False)),
    "partition-nowhere": ("PartitionNotExistException", lambda r: r.catalog.get_partition(r.nowhere, ROOM)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_catalog_has_not_is_caught_by_its_name(what: str) -> None:
    name, act = REFUSED[what]
    with pytest.raises(getattr(exceptions, name)) as refused:
        act(Rooms())
    assert isinstance(refused.value, exceptions.CatalogException)


def test_tables_and_partitions_of_a_catalog() -> None:
    rooms = Rooms()
    catalog, shelf = rooms.catalog, rooms.shelf
    catalog.create_table(shelf, rooms.table(), False)
    with pytest.raises(exceptions.TableAlreadyExistException):
        catalog.create_table(shelf, rooms.table(), False)
    with pytest.raises(exceptions.DatabaseNotEmptyException):
        catalog.drop_database("cellar", True)
    partition = CatalogPartition.create_instance({"rows": "3"})
    with pytest.raises(exceptions.TableNotPartitionedException):
        catalog.create_partition(shelf, ROOM, partition, False)
    catalog.alter_table(shelf, rooms.table("day"), False)
    with pytest.raises(exceptions.PartitionSpecInvalidException):
        catalog.create_partition(shelf, CatalogPartitionSpec({"id": "1"}), partition, False)
    with pytest.raises(exceptions.PartitionNotExistException):
        catalog.alter_partition(shelf, ROOM, partition, False)
    catalog.create_partition(shelf, ROOM, partition, False)
    with pytest.raises(exceptions.PartitionAlreadyExistsException):
        catalog.create_partition(shelf, ROOM, partition, False)
    assert catalog.get_partition(shelf, ROOM).get_properties() == {"rows": "3"}
    assert not catalog.partition_exists(rooms.nowhere, ROOM)


def test_nothing_is_done_about_what_is_nowhere_if_that_is_asked() -> None:
    rooms = Rooms()
    rooms.catalog.drop_table(rooms.nowhere, True)
    rooms.catalog.drop_function(rooms.nowhere, True)
    rooms.catalog.alter_table(rooms.nowhere, rooms.table(), True)
    assert not rooms.catalog.database_exists("attic")
