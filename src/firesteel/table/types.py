"""Data types of table columns (Flink: ``DataTypes``)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from firesteel.common.typeinfo import TypeInformation, Types

__all__ = ["DataType", "DataTypes"]


@dataclass(frozen=True, slots=True)
class DataType:
    """A logical type. ``type_info``: how streams name it."""

    name: str
    type_info: TypeInformation
    is_nullable: bool = True

    def not_null(self) -> DataType:
        return replace(self, is_nullable=False)

    def nullable(self) -> DataType:
        return replace(self, is_nullable=True)

    def __str__(self) -> str:
        return self.name if self.is_nullable else f"{self.name} NOT NULL"


class DataTypes:
    """The simple data types."""

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> DataType:
        return DataType("BOOLEAN", Types.BOOLEAN(), nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> DataType:
        """8 bits."""
        return DataType("TINYINT", Types.BYTE(), nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> DataType:
        """16 bits."""
        return DataType("SMALLINT", Types.SHORT(), nullable)

    @staticmethod
    def INT(nullable: bool = True) -> DataType:
        """32 bits."""
        return DataType("INT", Types.INT(), nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> DataType:
        """64 bits."""
        return DataType("BIGINT", Types.LONG(), nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> DataType:
        """32 bits."""
        return DataType("FLOAT", Types.FLOAT(), nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DataType:
        """64 bits."""
        return DataType("DOUBLE", Types.DOUBLE(), nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> DataType:
        return DataType("STRING", Types.STRING(), nullable)
