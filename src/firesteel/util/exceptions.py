"""The errors of PyFlink's tables by their names (``pyflink.util.exceptions``), for programs that catch them.

In PyFlink they carry the stack trace of a Java exception. Here they are errors of Firesteel like all others;
``StreamTableEnvironment`` raises those of tables that are there already or are not. There are no catalogs,
databases, functions, models and partitions here, so nothing raises the errors about those.
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
    """Root of the errors of tables. No Java is involved; the name is PyFlink's."""

    @property
    def stack_trace(self) -> str:
        """The whole text of the error."""
        return str(self)


class TableException(JavaException, ProgramError):
    """Something cannot be done with a table."""


class CatalogException(JavaException):
    """Something is wrong with a catalog."""


class DatabaseAlreadyExistException(JavaException):
    """A database is to be created that exists."""


class DatabaseNotEmptyException(JavaException):
    """A database is to be dropped that has tables."""


class DatabaseNotExistException(JavaException):
    """A database does not exist."""


class FunctionAlreadyExistException(JavaException):
    """A function is to be created that exists."""


class FunctionNotExistException(JavaException):
    """A function does not exist."""


class PartitionAlreadyExistsException(JavaException):
    """A partition is to be created that exists."""


class PartitionNotExistException(JavaException):
    """A partition does not exist."""


class PartitionSpecInvalidException(JavaException):
    """The specification of a partition does not go with the partition keys of its table."""


class TableAlreadyExistException(JavaException, ProgramError):
    """A table is to be created whose name is taken."""


class TableNotExistException(JavaException, ProgramError):
    """There is no table of a name."""


class ModelAlreadyExistException(JavaException):
    """A model is to be created that exists."""


class ModelNotExistException(JavaException):
    """A model does not exist."""


class TableNotPartitionedException(JavaException):
    """A table has no partitions."""
