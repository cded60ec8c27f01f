"""Options and setters with values at and beyond their edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common import Configuration, RestartStrategies
from firesteel.datastream import StreamExecutionEnvironment

from .core import Case, Here, area

CASES: list[Case] = []
case = area("options", CASES)


def same(value: Any) -> Any:
    return value


def configured(key: str, value: str) -> Configuration:
    configuration = Configuration()
    configuration.set_string(key, value)
    return configuration


for _words, _parallelism in [
    ("0", 0),
    ("-1", -1),
    ("1.5", 1.5),
    ("'2'", "2"),
    ("True", True),
    ("None", None),
    ("2**15", 2**15),
    ("2**15 + 1", 2**15 + 1),
    ("2**40", 2**40),
]:
    case(f"a parallelism of {_words}")(lambda here, p=_parallelism: here.env(p).get_parallelism())
    case(f"a default parallelism of {_words} as an option")(
        lambda here, p=_parallelism: StreamExecutionEnvironment.get_execution_environment(
            configured("parallelism.default", str(p))
        ).get_parallelism()
    )
    case(f"a maximum parallelism of {_words}")(
        lambda here, p=_parallelism: here.env().set_max_parallelism(p).get_max_parallelism()
    )


OPTIONS: list[tuple[str, str, str]] = [
    ("a checkpoint interval of 0", "execution.checkpointing.interval", "0"),
    ("a checkpoint interval of -1 s", "execution.checkpointing.interval", "-1 s"),
    ("a checkpoint interval of 1.5 s", "execution.checkpointing.interval", "1.5 s"),
    ("a checkpoint interval without a unit", "execution.checkpointing.interval", "1000"),
    ("a checkpoint interval of 2 fortnights", "execution.checkpointing.interval", "2 fortnights"),
    ("a checkpoint interval of 10**30 days", "execution.checkpointing.interval", f"{10**30} d"),
    ("a checkpoint timeout of 0", "execution.checkpointing.timeout", "0 s"),
    ("a checkpointing mode of its own", "execution.checkpointing.mode", "MOSTLY_ONCE"),
    ("no concurrent checkpoints", "execution.checkpointing.max-concurrent-checkpoints", "0"),
    (
        "-2 tolerable checkpoint failures as an option",
        "execution.checkpointing.tolerable-failed-checkpoints",
        "-2",
    ),
    ("no checkpoints that are kept", "execution.checkpointing.num-retained", "0"),
    ("a checkpoint interval of 1 ms", "execution.checkpointing.interval", "1 ms"),
    ("an empty checkpoint directory as an option", "execution.checkpointing.dir", ""),
    ("an empty savepoint directory as an option", "execution.checkpointing.savepoint-dir", ""),
    ("an empty path to go on from", "execution.state-recovery.path", ""),
    ("a restart strategy that there is not", "restart-strategy.type", "sometimes"),
    ("an empty restart strategy", "restart-strategy.type", ""),
    ("a restart strategy in capitals", "restart-strategy.type", "NONE"),
    ("-1 attempts of a restart strategy", "restart-strategy.fixed-delay.attempts", "-1"),
    ("a runtime mode of its own", "execution.runtime-mode", "SOMETIMES"),
    ("a flag that says ja", "pipeline.object-reuse", "ja"),
    ("an empty flag", "pipeline.object-reuse", ""),
    ("an option with an empty name", "", "x"),
    ("an option with a NUL in its value", "pipeline.name", "a\0b"),
    ("an option in capitals", "PARALLELISM.DEFAULT", "2"),
    ("an option with spaces around it", " parallelism.default ", "2"),
    ("a number with spaces around it", "parallelism.default", " 2 "),
    ("a number with an underscore", "parallelism.default", "1_0"),
    ("a number in Arabic digits", "parallelism.default", "\u0662"),
    ("a state backend that there is not", "state.backend.type", "paper"),
    ("a job id that is not hexadecimal", "$internal.pipeline.job-id", "my-job"),
    ("a snapshot to go on from that is not there", "execution.state-recovery.path", "/nowhere/chk-1"),
    ("an epoch of a negative time", "firesteel.epoch.target", "-1 s"),
    ("a memory size of NaN", "firesteel.exchange.max-record-size", "nan mb"),
    ("a memory size beyond 64 bits", "firesteel.exchange.max-record-size", f"{2**70} b"),
]
for _words, _key, _value in OPTIONS:

    def _optional(here: Here, key: str = _key, value: str = _value) -> Any:
        env = StreamExecutionEnvironment.get_execution_environment(configured(key, value))
        return env.from_collection([1, 2]).map(same)

    case(_words)(_optional)


SETTERS: list[tuple[str, Callable[[Any], Any]]] = [
    ("enable_checkpointing(0)", lambda env: env.enable_checkpointing(0)),
    ("enable_checkpointing(-1)", lambda env: env.enable_checkpointing(-1)),
    ("enable_checkpointing('1 s')", lambda env: env.enable_checkpointing("1 s")),
    ("enable_checkpointing(1.5)", lambda env: env.enable_checkpointing(1.5)),
    ("enable_checkpointing(True)", lambda env: env.enable_checkpointing(True)),
    ("enable_checkpointing(2**63)", lambda env: env.enable_checkpointing(2**63)),
    (
        "a restart delay of -1 ms",
        lambda env: env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, -1)),
    ),
    ("-1 restarts", lambda env: env.set_restart_strategy(RestartStrategies.fixed_delay_restart(-1, 1))),
    ("'3' restarts", lambda env: env.set_restart_strategy(RestartStrategies.fixed_delay_restart("3", 1))),
    ("None as the restart strategy", lambda env: env.set_restart_strategy(None)),
    ("a buffer timeout of -2", lambda env: env.set_buffer_timeout(-2)),
    ("a watermark interval of -1", lambda env: env.get_config().set_auto_watermark_interval(-1)),
    ("a text as the runtime mode", lambda env: env.set_runtime_mode("BATCH")),
    ("a text as the state backend", lambda env: env.set_state_backend("rocksdb")),
    ("a Python file that is not there", lambda env: env.add_python_file("/nowhere/a.py")),
    ("None as a Python file", lambda env: env.add_python_file(None)),
    (
        "a max concurrent checkpoints of 0",
        lambda env: env.get_checkpoint_config().set_max_concurrent_checkpoints(0),
    ),
    (
        "-2 tolerable checkpoint failures",
        lambda env: env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(-2),
    ),
    ("job parameters that are a list", lambda env: env.get_config().set_global_job_parameters([1])),
    ("a configuration that is a dict", lambda env: env.configure({"parallelism.default": "2"})),
]
for _words, _set in SETTERS:

    def _setting(here: Here, set_it: Any = _set) -> Any:
        env = here.env()
        set_it(env)
        return env.from_collection([1, 2]).map(same)

    case(_words)(_setting)
