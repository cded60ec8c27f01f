"""A real transactional target: a table of SQLite, written through the two-phase API."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from firesteel.datastream.functions import TwoPhaseCommitSinkFunction


@dataclass
class Transaction:
    id: str
    rows: list[Any] = field(default_factory=list)


class SqliteSink(TwoPhaseCommitSinkFunction):
    """Rows are staged in one table and moved into another, where readers look. A third one has the names of
    what was moved: a copy of a task that comes too late stages it once more, and that must not count."""

    def __init__(self, path: str, table: str) -> None:
        super().__init__()
        self.path = path
        self.table = table

    def open(self) -> None:
        self.db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self.db.execute(f"CREATE TABLE IF NOT EXISTS {self.table} (line TEXT)")
        self.db.execute(f"CREATE TABLE IF NOT EXISTS staged_{self.table} (id TEXT PRIMARY KEY, rows TEXT)")
        self.db.execute(f"CREATE TABLE IF NOT EXISTS moved_{self.table} (id TEXT PRIMARY KEY)")

    def close(self) -> None:
        self.db.close()

    def begin_transaction(self) -> Transaction:
        return Transaction(self.get_transaction_id())

    def invoke(self, transaction: Transaction, value: Any, context: Any) -> None:  # type: ignore[override]
        transaction.rows.append(value)

    def pre_commit(self, transaction: Transaction) -> None:
        rows = json.dumps(transaction.rows)
        transaction.id += "-" + hashlib.sha256(rows.encode()).hexdigest()[:16]
        transaction.rows = []
        self.db.execute(f"INSERT OR IGNORE INTO staged_{self.table} VALUES (?, ?)", (transaction.id, rows))

    def commit(self, transaction: Transaction) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        try:
            self._move(transaction)
        except BaseException:
            if self.db.in_transaction:  # a full disk has ended it already
                self.db.rollback()
            raise
        self.db.execute("COMMIT")

    def _move(self, transaction: Transaction) -> None:
        name = (transaction.id,)
        if self.db.execute(f"INSERT OR IGNORE INTO moved_{self.table} VALUES (?)", name).rowcount:
            found = self.db.execute(f"SELECT rows FROM staged_{self.table} WHERE id = ?", name).fetchone()
            if found is None:
                raise LookupError(f"transaction {transaction.id} is neither staged nor moved")
            self.before_each_commit()
            self.db.executemany(f"INSERT INTO {self.table} VALUES (?)", [(r,) for r in json.loads(found[0])])
        self.abort(transaction)

    def before_each_commit(self) -> None:
        """Here a driver may die."""

    def abort(self, transaction: Transaction) -> None:
        self.db.execute(f"DELETE FROM staged_{self.table} WHERE id = ?", (transaction.id,))

    def finish_recovering_context(self, handled_transactions: Collection[Any]) -> None:
        handled = {transaction.id for transaction in handled_transactions}
        found = self.db.execute(f"SELECT id FROM staged_{self.table}").fetchall()
        prefix = self.get_transaction_prefix()
        for (name,) in found:
            if name.startswith(prefix) and name not in handled:
                self.abort(Transaction(name))


def lines_in(path: str, table: str) -> list[str]:
    """What a reader sees, sorted."""
    db = sqlite3.connect(path)
    try:
        return sorted(line for (line,) in db.execute(f"SELECT line FROM {table}"))
    finally:
        db.close()


def staged_in(path: str, table: str) -> int:
    """How many transactions are staged and were never moved."""
    db = sqlite3.connect(path)
    try:
        left = f"SELECT count(*) FROM staged_{table} WHERE id NOT IN (SELECT id FROM moved_{table})"
        return int(db.execute(left).fetchone()[0])
    finally:
        db.close()
