"""Settings of a table environment (PyFlink: ``pyflink.table.environment_settings``)."""

from __future__ import annotations

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ProgramError
from firesteel.common.options import execution, table as options
from firesteel.program.execution_mode import RuntimeExecutionMode

__all__ = ["EnvironmentSettings"]


class EnvironmentSettings:
    """Mode, names of the built-in catalog and database, configuration. Made by ``new_instance()``."""

    class Builder:
        """Puts settings together."""

        def __init__(self) -> None:
            self._configuration = Configuration()

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Add options."""
            if not isinstance(config, Configuration):
                raise ProgramError("with_configuration() takes a Configuration.", detail=f"got {config!r}")
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            return self._mode(RuntimeExecutionMode.BATCH)

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            return self._mode(RuntimeExecutionMode.STREAMING)

        def _mode(self, mode: RuntimeExecutionMode) -> EnvironmentSettings.Builder:
            self._configuration.set_string(execution.RUNTIME_MODE.key, mode.name)
            return self

        def with_built_in_catalog_name(self, built_in_catalog_name: str) -> EnvironmentSettings.Builder:
            """Name the catalog that is there from the start."""
            self._configuration.set_string(options.CATALOG.key, built_in_catalog_name)
            return self

        def with_built_in_database_name(self, built_in_database_name: str) -> EnvironmentSettings.Builder:
            """Name the database of that catalog."""
            self._configuration.set_string(options.DATABASE.key, built_in_database_name)
            return self

        def build(self) -> EnvironmentSettings:
            return EnvironmentSettings(Configuration(self._configuration))

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    def get_built_in_catalog_name(self) -> str:
        return self._configuration.get(options.CATALOG)

    def get_built_in_database_name(self) -> str:
        return self._configuration.get(options.DATABASE)

    def is_streaming_mode(self) -> bool:
        return self._configuration.get(execution.RUNTIME_MODE) != RuntimeExecutionMode.BATCH.name

    def get_configuration(self) -> Configuration:
        return self._configuration
