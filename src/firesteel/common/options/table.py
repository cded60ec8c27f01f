"""Options of SQL and the Table API."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import boolean, duration, integer, text, texts, word

_ONE_RUNTIME: Final = "operators and their memory are Firesteel's own"
_NO_CODE: Final = "no code is generated"
_FIRES_ONCE: Final = "windows of GROUP BY are shown once, at their end"

CATALOG: Final = text(
    "table.builtin-catalog-name", "default_catalog", "The catalog that is there from the start."
)
DATABASE: Final = text("table.builtin-database-name", "default_database", "Its database.")
LOCAL_TIME_ZONE: Final = text(
    "table.local-time-zone",
    "default",
    "The time zone of the session: how TIMESTAMP_LTZ is shown and cast. `default`: that of the machine.",
)
DISPLAY_WIDTH: Final = integer(
    "table.display.max-column-width",
    30,
    "The widest column that a printed result of unbounded columns has.",
    bounds=Bounds(1),
)
DML_SYNC: Final = boolean("table.dml-sync", False, "Whether INSERT waits until its job has ended.")
DYNAMIC_OPTIONS: Final = boolean(
    "table.dynamic-table-options.enabled",
    True,
    "Whether OPTIONS hints may change the options of a table.",
    no_effect="OPTIONS hints are always taken",
)
COLUMN_EXPANSION: Final = texts(
    "table.column-expansion-strategy",
    "Which columns `*` leaves out: EXCLUDE_DEFAULT_VIRTUAL_METADATA_COLUMNS, "
    "EXCLUDE_ALIASED_VIRTUAL_METADATA_COLUMNS.",
    no_effect="`*` stands for all columns of a table",
)
SQL_DIALECT: Final = word("table.sql-dialect", "default", ("default",), "The dialect of statements.")
STATE_TTL: Final = duration(
    "table.exec.state.ttl",
    0,
    "How long state of a key is kept that nothing touches; 0: for ever. Hints and windows say otherwise.",
)
MINI_BATCH: Final = boolean(
    "table.exec.mini-batch.enabled",
    False,
    "Whether operators take rows in batches, and hand on the last result of a key and batch alone.",
)
MINI_BATCH_LATENCY: Final = duration(
    "table.exec.mini-batch.allow-latency", 0, "How long a row may wait for its batch."
)
MINI_BATCH_SIZE: Final = integer("table.exec.mini-batch.size", -1, "The most rows that a batch has.")
DEFAULT_PARALLELISM: Final = integer(
    "table.exec.resource.default-parallelism",
    -1,
    "The parallelism of all operators of tables; -1: that of the environment.",
)
NOT_NULL_ENFORCER: Final = word(
    "table.exec.sink.not-null-enforcer",
    "ERROR",
    ("ERROR", "DROP"),
    "What becomes of a row with NULL in a NOT NULL column of its sink.",
)
NESTED_ENFORCER: Final = word(
    "table.exec.sink.nested-constraint-enforcer",
    "IGNORE",
    ("IGNORE", "ROWS", "ROWS_AND_COLLECTIONS"),
    "How deep the constraints of a sink's columns are looked after.",
)
TYPE_LENGTH_ENFORCER: Final = word(
    "table.exec.sink.type-length-enforcer",
    "IGNORE",
    ("IGNORE", "TRIM_PAD", "ERROR"),
    "What becomes of values longer than CHAR(n), VARCHAR(n), BINARY(n), VARBINARY(n) of a sink.",
)
UPSERT_MATERIALIZE: Final = word(
    "table.exec.sink.upsert-materialize",
    "AUTO",
    ("NONE", "AUTO", "FORCE"),
    "Whether changes are put in order before a sink with a primary key: AUTO, where they may come in "
    "disorder.",
)
REQUIRE_ON_CONFLICT: Final = boolean(
    "table.exec.sink.require-on-conflict",
    True,
    "Whether INSERT needs ON CONFLICT where the upsert key of the query is not the primary key of the sink.",
)
KEYED_SHUFFLE: Final = word(
    "table.exec.sink.keyed-shuffle",
    "AUTO",
    ("NONE", "AUTO", "FORCE"),
    "Whether rows go to the subtasks of a sink by its primary key.",
    no_effect="rows go by the primary key where a sink brings their changes into order, and nowhere else",
)
ROWTIME_INSERTER: Final = word(
    "table.exec.sink.rowtime-inserter",
    "ENABLED",
    ("ENABLED", "DISABLED"),
    "Whether records that leave the tables for a stream have the rowtime column for their timestamp.",
)
SOURCE_IDLE: Final = duration(
    "table.exec.source.idle-timeout",
    0,
    "After which time a source without rows holds watermarks back no longer.",
)
CDC_DUPLICATES: Final = boolean(
    "table.exec.source.cdc-events-duplicate",
    False,
    "Whether changes of a source with a primary key may come twice, and are made unique.",
)
DEDUPLICATE_SENSITIVE: Final = boolean(
    "table.exec.deduplicate.insert-update-after-sensitive-enabled",
    True,
    "Whether the first row of a key is +I and later ones +U for an operator that reads a deduplication.",
)
DEDUPLICATE_COMPACT: Final = boolean(
    "table.exec.deduplicate.mini-batch.compact-changes-enabled",
    False,
    "Whether a mini-batch of a deduplication gives one change for each key.",
    no_effect="each change of a mini-batch leaves",
)
ASYNC_LOOKUP_CAPACITY: Final = integer(
    "table.exec.async-lookup.buffer-capacity", 100, "How many lookups of a subtask may be under way."
)
ASYNC_LOOKUP_ORDER: Final = boolean(
    "table.exec.async-lookup.key-ordered-enabled",
    False,
    "Whether lookups of one key stay in order.",
    no_effect="the order of rows is kept in any case",
)
ASYNC_LOOKUP_MODE: Final = word(
    "table.exec.async-lookup.output-mode",
    "ORDERED",
    ("ORDERED", "ALLOW_UNORDERED"),
    "Whether rows leave a lookup join in their order.",
    no_effect="the order of rows is kept in any case",
)
ASYNC_LOOKUP_TIMEOUT: Final = duration(
    "table.exec.async-lookup.timeout", 180_000, "How long a lookup may take."
)
ASYNC_SCALAR_CAPACITY: Final = integer(
    "table.exec.async-scalar.max-concurrent-operations",
    10,
    "How many calls of an asynchronous scalar function may be under way.",
)
ASYNC_SCALAR_TIMEOUT: Final = duration(
    "table.exec.async-scalar.timeout",
    180_000,
    "How long a call of an asynchronous scalar function may take.",
)
ASYNC_SCALAR_RETRY: Final = word(
    "table.exec.async-scalar.retry-strategy",
    "FIXED_DELAY",
    ("NO_RETRY", "FIXED_DELAY"),
    "Whether calls of asynchronous scalar functions that fail are tried again.",
)
ASYNC_SCALAR_DELAY: Final = duration(
    "table.exec.async-scalar.retry-delay",
    100,
    "The time before a call that failed is tried again.",
)
ASYNC_SCALAR_ATTEMPTS: Final = integer(
    "table.exec.async-scalar.max-attempts",
    3,
    "How often a call that failed is tried again.",
)
WINDOW_AGG_BUFFER: Final = integer(
    "table.exec.window-agg.buffer-size-limit",
    100_000,
    "Flink: the most elements in the buffer of a window aggregate.",
    no_effect=_ONE_RUNTIME,
)
LEGACY_CAST: Final = word(
    "table.exec.legacy-cast-behaviour", "DISABLED", ("DISABLED",), "Casts fail where they cannot be done."
)
TOPN_CACHE: Final = integer(
    "table.exec.rank.topn-cache-size",
    10_000,
    "Flink: the rows of a rank that are cached.",
    no_effect="the state of a key is read once for each batch",
)
UID_GENERATION: Final = word(
    "table.exec.uid.generation",
    "PLAN_ONLY",
    ("PLAN_ONLY", "ALWAYS", "DISABLED"),
    "Flink: where operators of tables get uids.",
    no_effect="operators of tables always have uids, made of what they read",
)
INTERVAL_JOIN_CLEANUP: Final = duration(
    "table.exec.interval-join.min-cleanup-interval",
    0,
    "Flink: the least time between two cleanings of an interval join.",
    no_effect="what the watermark has passed is removed with the epoch",
)
EARLY_FIRE: Final = boolean(
    "table.exec.emit.early-fire.enabled",
    False,
    "Flink: whether the old windows of GROUP BY are shown before their end. A query with one is refused.",
)
EARLY_FIRE_DELAY: Final = duration(
    "table.exec.emit.early-fire.delay",
    None,
    "Flink: how often they are shown before their end.",
    no_effect=_FIRES_ONCE,
)
LATE_FIRE: Final = boolean(
    "table.exec.emit.late-fire.enabled",
    False,
    "Flink: whether the old windows of GROUP BY are shown again for late rows. If so, a query with one is "
    "refused.",
)
LATE_FIRE_DELAY: Final = duration(
    "table.exec.emit.late-fire.delay",
    None,
    "Flink: how often they are shown after their end.",
    no_effect=_FIRES_ONCE,
)
ALLOW_LATENESS: Final = duration(
    "table.exec.emit.allow-lateness",
    0,
    "Flink: how long the old windows of GROUP BY take late rows. A query with one is refused.",
)
SORT_DEFAULT_LIMIT: Final = integer(
    "table.exec.sort.default-limit", -1, "Batch mode: the LIMIT of an ORDER BY that has none; -1: none."
)
OVER_VERSION: Final = integer(
    "table.exec.unbounded-over.version",
    2,
    "Flink: which implementation unbounded OVER aggregates use.",
    no_effect=_ONE_RUNTIME,
)
AGG_PHASES: Final = word(
    "table.optimizer.agg-phase-strategy",
    "AUTO",
    ("AUTO", "ONE_PHASE", "TWO_PHASE"),
    "Whether rows are aggregated before the exchange, too, where mini-batches are on: AUTO and TWO_PHASE: "
    "where the aggregates can be merged, ONE_PHASE: never.",
)
SPLIT_DISTINCT: Final = boolean(
    "table.optimizer.distinct-agg.split.enabled",
    False,
    "Whether DISTINCT aggregates are spread over buckets of their values first.",
)
SPLIT_BUCKETS: Final = integer("table.optimizer.distinct-agg.split.bucket-num", 1024, "How many buckets.")
INCREMENTAL: Final = boolean(
    "table.optimizer.incremental-agg-enabled",
    True,
    "Flink: whether the two aggregates of a split DISTINCT are joined into one.",
    no_effect="the two run in one task, without an exchange between them",
)
NON_DETERMINISTIC: Final = word(
    "table.optimizer.non-deterministic-update.strategy",
    "IGNORE",
    ("IGNORE", "TRY_RESOLVE"),
    "Whether functions that are not deterministic are looked for in updating plans.",
    no_effect="plans are not searched for functions that are not deterministic",
)
REUSE_SUB_PLAN: Final = boolean(
    "table.optimizer.reuse-sub-plan-enabled", True, "Whether equal parts of a plan run once."
)
REUSE_SOURCE: Final = boolean(
    "table.optimizer.reuse-source-enabled", True, "Whether a table that is read several times is read once."
)
REUSE_SINK: Final = boolean(
    "table.optimizer.reuse-sink-enabled",
    False,
    "Flink: whether equal sinks of a statement set become one.",
    no_effect="each INSERT of a statement set has a sink of its own",
)
UNION_BREAKPOINT: Final = boolean(
    "table.optimizer.union-all-as-breakpoint-enabled",
    True,
    "Flink: whether a plan is cut at UNION ALL.",
    no_effect="a plan is made as a whole",
)
JOIN_REORDER: Final = boolean(
    "table.optimizer.join-reorder-enabled",
    False,
    "Whether inner joins of three tables or more are done in the order in which the fewest rows lie between "
    "them, by statistics of all of them (ANALYZE TABLE).",
)
BUSHY_JOINS: Final = integer(
    "table.optimizer.bushy-join-reorder-threshold",
    12,
    "So many joined tables at most are also put into trees in which a join joins joins.",
)
MULTI_JOIN: Final = boolean(
    "table.optimizer.multi-join.enabled",
    False,
    "Flink: whether joins of several tables become one operator.",
    no_effect="joins run one after the other, with the same result",
)
DELTA_JOIN: Final = word(
    "table.optimizer.delta-join.strategy",
    "AUTO",
    ("AUTO", "FORCE", "NONE"),
    "Flink: whether joins of tables with an index keep no state.",
    no_effect="joins keep their rows in state, with the same result",
)
MULTIPLE_INPUT: Final = boolean(
    "table.optimizer.multiple-input-enabled",
    True,
    "Flink: whether operators of several inputs are made one in batch mode.",
    no_effect=_ONE_RUNTIME,
)
PTF_TABLES: Final = integer(
    "table.optimizer.ptf.max-tables",
    20,
    "Flink: how many tables a process table function may take.",
    no_effect=_ONE_RUNTIME,
)
GENERATED_LENGTH: Final = integer(
    "table.generated-code.max-length",
    4000,
    "Flink: the longest method that is generated.",
    no_effect=_NO_CODE,
)
GENERATED_MEMBERS: Final = integer(
    "table.generated-code.max-members",
    10_000,
    "Flink: the most members of a generated class.",
    no_effect=_NO_CODE,
)
SIMPLE_NAMES: Final = boolean(
    "table.exec.simplify-operator-name-enabled",
    True,
    "Whether names of operators leave their details out.",
    no_effect="names of operators leave their details out",
)
RESTORE_OBJECTS: Final = word(
    "table.plan.restore.catalog-objects",
    "ALL",
    ("ALL", "ALL_ENFORCED", "IDENTIFIER"),
    "Where a compiled plan has its tables from.",
    no_effect="a compiled plan has its tables from the catalog",
)
COMPILE_OBJECTS: Final = word(
    "table.plan.compile.catalog-objects",
    "ALL",
    ("ALL", "SCHEMA", "IDENTIFIER"),
    "What a compiled plan has of tables.",
    no_effect="a compiled plan has its tables from the catalog",
)
FORCE_RECOMPILE: Final = boolean(
    "table.plan.force-recompile", False, "Whether COMPILE PLAN writes over a plan that is there."
)
