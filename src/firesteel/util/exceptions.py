"""The exceptions of PyFlink's tables under their names (``pyflink.util.exceptions``), for programs that catch
them.

In PyFlink they carry the stack trace of a Java exception. Here they are ordinary errors of Firesteel: those
of catalogs (``sql/catalog.py``) are of these classes, too.
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
    """Raised when an operation on a table is invalid."""


class CatalogException(JavaException):
    """Raised when an operation on a catalog fails."""


class DatabaseAlreadyExistException(JavaException):
    """Raised when a database to create already exists."""


class DatabaseNotEmptyException(JavaException):
    """Raised when a database to drop is not empty."""


class DatabaseNotExistException(JavaException):
    """Raised when a database does not exist."""


class FunctionAlreadyExistException(JavaException):
    """Raised when a function to create already exists."""


class FunctionNotExistException(JavaException):
    """Raised when a function does not exist."""


class PartitionAlreadyExistsException(JavaException):
    """Raised when a partition to create already exists."""


class PartitionNotExistException(JavaException):
    """Raised when a partition does not exist."""


class PartitionSpecInvalidException(JavaException):
    """Raised when a partition spec does not match the partition keys of the table."""


class TableAlreadyExistException(JavaException, ProgramError):
    """Raised when a table to create already exists."""


class TableNotExistException(JavaException, ProgramError):
    """Raised when a table does not exist."""


class ModelAlreadyExistException(JavaException):
    """Raised when a model to create already exists."""


class ModelNotExistException(JavaException):
    """Raised when a model does not exist."""


class TableNotPartitionedException(JavaException):
    """Raised when a table is not partitioned."""
