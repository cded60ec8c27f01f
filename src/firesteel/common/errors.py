"""The errors of Firesteel: one root, one subclass for each situation that a caller may want to tell apart.

An error says what happened, then the detail, then what to do about it, and names the operator it is about.
Errors travel between processes: they pickle with everything they carry except ``__cause__``, which Python
itself drops.
"""

from __future__ import annotations

from typing import Any

from firesteel.common.masking import masked


class FiresteelError(Exception):
    """Root of every error that Firesteel raises.

    Secrets in its texts are masked (``common/masking.py``).

    :param message: what happened, in one line.
    :param detail: more about this very case: the value, the path, the option.
    :param hint: what to do instead.
    :param operator: name of the operator that the error is about.
    :param uid: uid of that operator, if it has one.
    :param subtask: index of the subtask, counted from 0.
    """

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        operator: str | None = None,
        uid: str | None = None,
        subtask: int | None = None,
    ) -> None:
        message = masked(str(message))
        super().__init__(message)
        self.message = message
        self.detail = None if detail is None else masked(str(detail))
        self.hint = None if hint is None else masked(str(hint))
        self.operator = operator
        self.uid = uid
        self.subtask = subtask

    def add_note(self, note: str) -> None:
        super().add_note(masked(note))

    def __str__(self) -> str:
        lines = [self.message]
        for label, value in (
            ("operator", self.operator),
            ("uid", self.uid),
            ("subtask", self.subtask),
            ("detail", self.detail),
            ("hint", self.hint),
        ):
            if value is not None:
                lines.append(f"  {label}: {value}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception.__reduce__ would call the class with ``args``; that loses the keyword arguments of a
        # subclass. The object is made without __init__ and gets its attributes back as they were.
        return _rebuild, (type(self), self.args, self.__dict__.copy())


def _rebuild(cls: type[FiresteelError], args: tuple[Any, ...], attributes: dict[str, Any]) -> FiresteelError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


class ProgramError(FiresteelError, ValueError):
    """The program is wrong: a bad argument, a graph that cannot work. Raised before anything runs."""


class UnsupportedFeatureError(FiresteelError, NotImplementedError):
    """Flink has it, Firesteel does not do it. Raised when the graph is built, never ignored."""


class TypeMismatchError(FiresteelError, TypeError):
    """A value does not fit the type that was declared for it."""


class UnstableKeyError(ProgramError):
    """A key that has no stable form, so that it cannot be routed."""


class UnpicklableFunctionError(ProgramError):
    """A function or something it refers to cannot be sent to the workers."""


class ConfigurationError(ProgramError):
    """An option is unknown, malformed or contradicts another one."""


class PathNotFoundError(FiresteelError, FileNotFoundError):
    """A path that a source, a sink or a savepoint needs is not there."""


class UnpicklableRecordError(FiresteelError, TypeError):
    """A record cannot leave its process: it cannot be pickled. The error of pickle is the ``__cause__``."""


class RecordTooLargeError(FiresteelError, ValueError):
    """A record is larger than what may pass between two operators, or out of the job, in one piece."""


class StorageError(FiresteelError, OSError):
    """A file of a job cannot be written: there is no room, no right to it, or no such place."""


class StorageUnavailableError(StorageError):
    """A storage does not answer, or not in time; what was asked of it may work later.

    :ivar undone: whether it is certain that nothing of it was done, or will be.
    """

    undone = False


class StateError(FiresteelError):
    """State was used in a way it does not allow, or what is stored does not match what is asked for."""


class StateCorruptionError(StateError):
    """Stored state is damaged: a checksum, a length or a reference is wrong."""


class JobExecutionError(FiresteelError):
    """A job ended as FAILED. The user's own exception, if there was one, is the ``__cause__``.

    :param job_id: the id of the job, as hexadecimal text.
    """

    def __init__(
        self,
        message: str,
        *,
        job_id: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
        operator: str | None = None,
        uid: str | None = None,
        subtask: int | None = None,
    ) -> None:
        super().__init__(message, detail=detail, hint=hint, operator=operator, uid=uid, subtask=subtask)
        self.job_id = job_id


class JobCancelledError(JobExecutionError):
    """A job was cancelled before it had a result."""


class ConnectorError(FiresteelError):
    """A system outside that a source or a sink needs cannot be reached, or does not do what it is asked."""


class CommitError(FiresteelError):
    """A sink could not make visible what it has staged. What the sink raised, if anything, is the
    ``__cause__``."""


class BadRecordError(FiresteelError, ValueError):
    """A source met a record that it cannot read, and the program does not say what is to become of such."""


class EngineError(FiresteelError):
    """Spark failed, or answered what it must not answer; the fault is not in the user's functions."""


class NoSlotsError(EngineError):
    """There is no room for tasks that have to run at the same time; none of them has begun."""


class EngineLostError(EngineError):
    """The process of the engine has died, with all that it knew; what jobs have committed is elsewhere.

    :param replaceable: whether a new one takes its place when the job is tried again.
    """

    def __init__(self, message: str, *, replaceable: bool = True, **details: Any) -> None:
        super().__init__(message, **details)
        self.replaceable = replaceable
