"""A client: takes statements, has them run, shows what comes of them."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import TypeVar

from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.errors import FiresteelError
from firesteel.common.masking import masked
from firesteel.common.options import sql_client as options
from firesteel.common.options.table import DML_SYNC
from firesteel.sql_client.commands import HELP, Command, command_of
from firesteel.sql_client.executor import Executor
from firesteel.sql_client.results import INTERRUPTED, print_result
from firesteel.table._text_results import Content, TextResult

__all__ = ["Client", "View"]

T = TypeVar("T")
#: Shows the rows of a query on the whole screen; returns when the user has left it.
View = Callable[[TextResult, str, int], None]


class Client:
    """
    :param write: prints a text and a line break.
    :param view: None: there is no screen to fill.
    :param clear: clears the terminal.
    """

    def __init__(
        self,
        executor: Executor,
        write: Callable[[str], None],
        *,
        view: View | None = None,
        clear: Callable[[], None] = lambda: None,
    ) -> None:
        self.executor = executor
        self._write = write
        self._view = view
        self._clear = clear
        self._warned = False
        self.has_quit = False

    # ---- statements

    def run(self, statement: str) -> bool:
        """Run one statement, print what comes of it; whether it went well."""
        try:
            command = command_of(statement)
            if command is not None:
                self._command(command)
            else:
                self._show(self.executor.execute(statement))
        except KeyboardInterrupt:
            self._write(INTERRUPTED)
            return False
        except Exception as error:
            self._write(self.text_of(error))
            return False
        return True

    def run_all(self, statements: Iterable[str], *, echo: bool = False) -> bool:
        """Run statements up to the first that fails."""
        for statement in statements:
            if echo:
                self._write(f"Firesteel SQL> {statement}")
            if not self.run(statement):
                return False
            if self.has_quit:
                break
        return True

    def initialize(self, statements: Iterable[str]) -> bool:
        """Run statements that prepare the session: no query, and no INSERT, as in Flink."""
        for statement in statements:
            word = statement.split(None, 1)[0].upper() if statement.strip() else ""
            if word in ("SELECT", "WITH", "VALUES", "INSERT", "EXECUTE", "("):
                self._write(
                    f"[ERROR] An initialization file may not have queries or INSERT statements: {statement}"
                )
                return False
            if not self.run(statement):
                return False
        return True

    def wait_for_jobs(self) -> bool:
        """Wait for jobs that would end with this process."""
        good = True
        for job_id in self.executor.jobs_that_end_with_it():
            try:
                self.executor.wait(job_id)
            except Exception as error:
                self._write(self.text_of(error))
                good = False
        return good

    def warn_of_jobs(self) -> list[str]:
        """Say which jobs run that would end with this process; their ids."""
        running = list(self.executor.jobs_that_end_with_it())
        if running:
            self._write(
                "[WARNING] Jobs of this session still run in this process, and end with it: "
                f"{', '.join(running)}\n"
                "`firesteel sql -m HOST:PORT` starts jobs that go on."
            )
        return running

    def text_of(self, error: BaseException) -> str:
        if self._option(options.VERBOSE):
            reason = masked("".join(traceback.format_exception(error)).rstrip())
        elif isinstance(error, FiresteelError):
            reason = f"{type(error).__name__}: {error}"
        else:
            reason = masked(f"{type(error).__name__}: {error}")
        return f"[ERROR] Could not execute SQL statement. Reason:\n{reason}\n"

    # ---- what comes of them

    def _show(self, result: TextResult) -> None:
        mode = self._option(options.RESULT_MODE)
        if result.content is Content.QUERY and self._view is not None and mode != "TABLEAU":
            try:
                self._view(result, mode, self._option(options.MAX_TABLE_ROWS))
            finally:
                result.close()
            self._write(INTERRUPTED)
            return
        print_result(result, self._write, time_cost=self._option(options.PRINT_TIME_COST))
        if result.content is Content.JOB and result.job_id is not None and self._option(DML_SYNC):
            self.executor.wait(result.job_id)
            self._write("[INFO] Complete execution of the SQL update statement.")

    def _option(self, option: ConfigOption[T]) -> T:
        value = self.executor.setting(option.key)
        return Configuration.from_dict({} if value is None else {option.key: value}).get(option)

    def _command(self, command: Command) -> None:
        match command:
            case Command.HELP:
                self._write(HELP)
            case Command.CLEAR:
                self._clear()
            case Command.QUIT:
                self.quit()

    def quit(self) -> None:
        """Leave, unless jobs would end with this process and nobody was told."""
        if not self._warned and self._view is not None and self.warn_of_jobs():
            self._warned = True
            self._write("Leave once more to cancel them.")
            return
        self.has_quit = True
