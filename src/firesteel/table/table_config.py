"""The settings of a table environment (PyFlink: ``pyflink.table.table_config``)."""

from __future__ import annotations

import datetime

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, UnsupportedFeatureError
from firesteel.common.options import python, table as options
from firesteel.sql.session import session_zone
from firesteel.table.sql_dialect import SqlDialect

__all__ = ["TableConfig"]


class TableConfig:
    """Options of one table environment; they are those of its stream environment, too."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    @staticmethod
    def get_default() -> TableConfig:
        return TableConfig()

    def get(self, key: str, default_value: str) -> str:
        """The value of an option as text."""
        return self._configuration.get_string(key, default_value)

    def set(self, key: str, value: str) -> TableConfig:
        """Set an option, by its key in Flink."""
        self._configuration.set_string(key, value)
        return self

    def get_configuration(self) -> Configuration:
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Add options; those that are set already are replaced."""
        self._configuration.add_all(configuration)

    def to_map(self) -> dict[str, str]:
        """All options that are set, as texts."""
        return {key: str(value) for key, value in self._configuration.to_dict().items()}

    def get_local_timezone(self) -> str:
        """The time zone of the session."""
        return session_zone(self._configuration)

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the time zone of the session, such as Europe/Berlin or GMT+01:00."""
        before = self._configuration.get(options.LOCAL_TIME_ZONE)
        self._configuration.set_string(options.LOCAL_TIME_ZONE.key, timezone_id)
        try:
            session_zone(self._configuration)
        except ConfigurationError:
            self._configuration.set_string(options.LOCAL_TIME_ZONE.key, before or "default")
            raise

    def get_max_generated_code_length(self) -> int:
        """Flink's limit; no code is generated here."""
        return self._configuration.get(options.GENERATED_LENGTH) or 4000

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Flink's limit; no code is generated here, so nothing changes."""
        self._configuration.set_string(options.GENERATED_LENGTH.key, str(max_generated_code_length))

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """Set how long state is kept that nothing touches (``table.exec.state.ttl``)."""
        ms = duration // datetime.timedelta(milliseconds=1)
        self._configuration.set_string(options.STATE_TTL.key, f"{ms} ms")

    def get_idle_state_retention(self) -> datetime.timedelta:
        return datetime.timedelta(milliseconds=self._configuration.get(options.STATE_TTL) or 0)

    def get_sql_dialect(self) -> SqlDialect:
        return SqlDialect.DEFAULT

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Choose the dialect of statements: there is Flink's alone."""
        if sql_dialect is not SqlDialect.DEFAULT:
            raise UnsupportedFeatureError(
                "The dialect of Hive is not available.", hint="write the statement in Flink's dialect"
            )
        self._configuration.set_string(options.SQL_DIALECT.key, "default")

    def set_python_executable(self, python_exec: str) -> None:
        """Name the Python of the workers, which has to be the one that runs this program."""
        from firesteel.program.python_settings import require_this_python

        require_this_python(python_exec, "set_python_executable")
        self._configuration.set_string(python.EXECUTABLE.key, python_exec)

    def get_python_executable(self) -> str | None:
        return self._configuration.get(python.EXECUTABLE)
