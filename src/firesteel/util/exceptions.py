"""The exceptions of PyFlink's tables under their names (``pyflink.util.exceptions``), for programs that catch
them.

In PyFlink they carry the stack trace of a Java exception. Here they are ordinary errors of Firesteel.
``StreamTableEnvironment`` raises the ones for tables that already exist or do not exist. The errors for
catalogs, databases, functions, models and partitions are never raised, as Firesteel has none of these.
"""

from __future__ import annotations

from firesteel.common.errors import FiresteelError, ProgramError

__all__ = [
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "JavaException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "TableAlreadyExistException",
    "TableException",
    "TableNotExistException",
    "TableNotPartitionedException",
]


class JavaException(FiresteelError):
    """Base of the errors of tables. No Java is involved; the name is PyFlink's."""

    @property
    def stack_trace(self) -> str:
        """The full text of the error."""
        return str(self)


class TableException(JavaException, ProgramError):
    """An operation on a table is invalid."""


class CatalogException(JavaException):
    """An error of a catalog."""


class DatabaseAlreadyExistException(JavaException):
    """The database to create already exists."""


class DatabaseNotEmptyException(JavaException):
    """The database to drop is not empty."""


class DatabaseNotExistException(JavaException):
    """The database does not exist."""


class FunctionAlreadyExistException(JavaException):
    """The function to create already exists."""


class FunctionNotExistException(JavaException):
    """The function does not exist."""


class PartitionAlreadyExistsException(JavaException):
    """The partition to create already exists."""


class PartitionNotExistException(JavaException):
    """The partition does not exist."""


class PartitionSpecInvalidException(JavaException):
    """The partition spec does not match the partition keys of the table."""


class TableAlreadyExistException(JavaException, ProgramError):
    """The table to create already exists."""


class TableNotExistException(JavaException, ProgramError):
    """The table does not exist."""


class ModelAlreadyExistException(JavaException):
    """The model to create already exists."""


class ModelNotExistException(JavaException):
    """The model does not exist."""


class TableNotPartitionedException(JavaException):
    """The table is not partitioned."""
