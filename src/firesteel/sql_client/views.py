"""The rows of a query on the whole screen, while they come: modes TABLE and CHANGELOG."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from prompt_toolkit.application import Application
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl

from firesteel.sql_client.result_tables import Changelog, Materialized, ResultTable
from firesteel.table._printing import column_widths, line
from firesteel.table._text_results import TextResult

__all__ = ["show"]

_INTERVALS_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
_KEYS: Final = (
    "Q quit   R refresh   G/Home first   E/End last   N/PgDn next   P/PgUp previous   + faster   - slower"
)


def show(result: TextResult, mode: str, limit: int) -> None:
    """Show the rows until the user leaves. The job is left as it is.

    :param limit: how many rows are kept.
    """
    table: ResultTable = Changelog(limit) if mode == "CHANGELOG" else Materialized(limit)
    view = _View(result, table, mode)
    reader = threading.Thread(target=view.read, daemon=True, name="firesteel-sql-result")
    reader.start()
    view.run()


class _View:
    def __init__(self, result: TextResult, table: ResultTable, mode: str) -> None:
        self._result = result
        self._table = table
        self._mode = mode
        self._first = 0
        self._follows = True  # the last page, as rows come
        self._interval = 3
        self._ended = False
        self._error: BaseException | None = None
        self._drawn_s = 0.0
        self._widths = [2] * len(table.names) + column_widths(result.row, result.width)
        self._app: Application[None] = self._application()

    # ---- rows

    def read(self) -> None:
        """Take the rows as they come; called in a thread of its own."""
        try:
            for page in self._result.pages:
                self._table.add(page)
        except BaseException as error:
            self._error = error
        self._ended = True
        self._app.invalidate()

    def run(self) -> None:
        self._app.run()
        if self._error is not None:
            raise self._error

    # ---- the screen

    def _application(self) -> Application[None]:
        body = Window(FormattedTextControl(self._body), wrap_lines=False)
        app: Application[None] = Application(
            Layout(
                HSplit(
                    [
                        Window(FormattedTextControl(self._title), height=1, style="reverse"),
                        body,
                        Window(FormattedTextControl(_KEYS), height=1, style="reverse"),
                    ]
                )
            ),
            full_screen=True,
            key_bindings=self._bindings(),
            before_render=self._before_render,
            refresh_interval=_INTERVALS_S[self._interval],
        )
        return app

    def _before_render(self, app: Application[None]) -> None:
        app.refresh_interval = _INTERVALS_S[self._interval]
        self._drawn_s = time.time()

    def _height(self) -> int:
        return max(1, self._app.output.get_size().rows - 6)  # title, keys, borders and names

    def _pages(self) -> int:
        return max(1, -(-len(self._table) // self._height()))

    def _title(self) -> str:
        state = "finished" if self._ended else f"refresh {_INTERVALS_S[self._interval]:g} s"
        if self._error is not None:
            state = "failed: Q shows the error"
        page = f"page {self._first // self._height() + 1} of {self._pages()}"
        dropped = f", {self._table.dropped} dropped" if self._table.dropped else ""
        updated = time.strftime("%H:%M:%S", time.localtime(self._drawn_s))
        rows = f"{len(self._table)} rows{dropped}"
        return f" SQL Query Result ({self._mode})   {rows}   {page}   {state}   {updated}"

    def _body(self) -> str:
        height = self._height()
        last = (self._pages() - 1) * height
        self._first = last if self._follows else min(self._first, last)
        border = "+" + "+".join("-" * (width + 2) for width in self._widths) + "+"
        names = line([*self._table.names, *self._result.row.names], self._widths)
        rows = (line(fields, self._widths) for fields in self._table.rows(self._first, height))
        return "\n".join([border, names, border, *rows, border])

    # ---- keys

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        def on(*keys: str) -> Callable[[Callable[[], None]], None]:
            def add(do: Callable[[], None]) -> None:
                for key in keys:
                    bindings.add(key)(lambda event: do())

            return add

        on("q", "Q", "c-c", "escape")(lambda: self._app.exit())
        on("r", "R")(lambda: self._app.invalidate())
        on("g", "home")(lambda: self._turn_to(0))
        on("e", "G", "end")(self._last)
        on("n", "pagedown", "down")(lambda: self._turn_to(self._first + self._height()))
        on("p", "pageup", "up")(lambda: self._turn_to(self._first - self._height()))
        on("+")(lambda: self._faster(-1))
        on("-")(lambda: self._faster(1))
        return bindings

    def _turn_to(self, first: int) -> None:
        last = (self._pages() - 1) * self._height()
        self._first = max(0, min(first, last))
        self._follows = False

    def _last(self) -> None:
        self._follows = True

    def _faster(self, step: int) -> None:
        self._interval = max(0, min(self._interval + step, len(_INTERVALS_S) - 1))
