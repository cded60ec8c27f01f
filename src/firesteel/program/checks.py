"""Checks of what users pass in, made where the program makes the mistake and not when the job runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from firesteel.common.errors import (
    ProgramError,
    UnpicklableFunctionError,
    UnstableKeyError,
    UnsupportedFeatureError,
)
from firesteel.common.typeinfo import (
    BasicArrayTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.program.operators import OperatorSpec

_ARRAYS = (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo)
_BYTES = PrimitiveArrayTypeInfo(Types.BYTE())  # its values are bytes
_MAX_DEPTH = 5  # how far into a function's variables the one at fault is looked for


class WrongArgumentError(ProgramError, TypeError):
    """An argument of the API is of the wrong type or class."""


def to_type_information(
    type_info: TypeInformation | list[TypeInformation] | None, what: str, operator: str | None = None
) -> TypeInformation | None:
    """The type as it is kept: a list of types means a Row of them, None any Python object."""
    if type_info is None or isinstance(type_info, TypeInformation):
        return type_info
    if isinstance(type_info, list) and all(isinstance(t, TypeInformation) for t in type_info):
        return RowTypeInfo(type_info)
    raise WrongArgumentError(
        f"The {what} is not a type.",
        operator=operator,
        detail=f"got {type_info!r}",
        hint="pass a type such as Types.INT(), a list of types for a Row, or None for any Python object",
    )


def require_key_type(type_info: TypeInformation | None, operator: str) -> None:
    """Check that values of the declared type can be keys: as in Flink, arrays cannot."""
    pending = [type_info]
    while pending:
        part = pending.pop()
        if isinstance(part, (RowTypeInfo, TupleTypeInfo)):
            pending += part.get_field_types()
        elif isinstance(part, _ARRAYS) and part != _BYTES:
            raise UnstableKeyError(
                f"A value of type {part} cannot be a key: it has no stable hash.",
                operator=operator,
                detail=f"the declared key type is {type_info}",
                hint="declare Types.LIST(...), Types.TUPLE([...]), or no key type",
            )


def projected_type(
    type_info: TypeInformation | None, indexes: tuple[int, ...], operator: str
) -> TupleTypeInfo:
    """The type of the fields at ``indexes`` of tuples of a declared type."""
    if not isinstance(type_info, TupleTypeInfo):
        raise WrongArgumentError(
            "Only a stream of tuples with a declared type can be projected.",
            operator=operator,
            detail=f"the type of the stream is {type_info or Types.PICKLED_BYTE_ARRAY()}",
            hint="declare it: output_type=Types.TUPLE([...])",
        )
    if not indexes:
        raise ProgramError("project() needs at least one field.", operator=operator)
    types = type_info.get_field_types()
    for index in indexes:
        require_int(index, "field index", 0, len(types) - 1, operator)
    return Types.TUPLE([types[i] for i in indexes])


def require_callable(function: Any, function_class: type, operator: str) -> None:
    """``function`` is an instance of ``function_class`` or a plain callable."""
    name = function_class.__name__
    if isinstance(function, type) and issubclass(function, _function_base(function_class)):
        raise WrongArgumentError(
            "The function is a class and not an object of it.",
            operator=operator,
            detail=f"got the class {function.__name__}",
            hint=f"pass an instance: {function.__name__}()",
        )
    if isinstance(function, function_class):
        _require_plain_methods(function, function_class, operator)
        return
    if not callable(function) or _is_other_function(function, function_class):
        raise WrongArgumentError(
            f"The function must be a {name} or a callable.",
            operator=operator,
            detail=f"got {_describe(function)}",
            hint=f"pass a lambda, a function or an instance of a subclass of {name}",
        )
    _require_plain(function, _describe(function), operator)
    if name == "FilterFunction" and inspect.isgeneratorfunction(function):
        raise _generating_filter(_describe(function), operator)


def _require_plain(function: Any, what: str, operator: str) -> None:
    """Nobody would wait for a coroutine, and a filter would take each record: a coroutine is true."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise WrongArgumentError(
            "An async function cannot be used here.",
            operator=operator,
            detail=f"{what} returns a coroutine and not a value",
            hint="write it with plain def, or call it in an AsyncFunction",
        )


def _require_plain_methods(function: Any, function_class: type | tuple[type, ...], operator: str) -> None:
    """The methods that a function class asks for are none that return coroutines."""
    classes = function_class if isinstance(function_class, tuple) else (function_class,)
    methods = {name: getattr(kind, name) for kind in classes for name in dir(kind) if name[0] != "_"}
    if any(map(inspect.iscoroutinefunction, methods.values())):
        return  # it asks for some, and checks them itself
    for name in methods:
        method = getattr(function, name, None)
        what = f"{type(function).__name__}.{name}()"
        _require_plain(method, what, operator)
        if name == "filter" and inspect.isgeneratorfunction(method):
            raise _generating_filter(what, operator)


def _generating_filter(what: str, operator: str) -> WrongArgumentError:
    return WrongArgumentError(
        "A filter that yields would take each record.",
        operator=operator,
        detail=f"{what} returns a generator, which is true",
        hint="return True or False",
    )


def require_function(
    function: Any, function_class: type | tuple[type, ...], operator: str, hint: str
) -> None:
    """``function`` is an instance of ``function_class``; there is no short form with a callable."""
    if isinstance(function, function_class):
        _require_plain_methods(function, function_class, operator)
        return
    classes = function_class if isinstance(function_class, tuple) else (function_class,)
    names = " or ".join(c.__name__ for c in classes)
    if isinstance(function, type) and issubclass(function, classes):
        hint = f"pass an instance: {function.__name__}()"
    raise WrongArgumentError(
        f"The function must be a {names}.", operator=operator, detail=f"got {_describe(function)}", hint=hint
    )


def require_int(
    value: Any, what: str, minimum: int, maximum: int | None = None, operator: str | None = None
) -> int:
    """``value`` is an int (and no bool) within the bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongArgumentError(f"The {what} must be an int.", operator=operator, detail=f"got {value!r}")
    if value < minimum or (maximum is not None and value > maximum):
        bounds = f"at least {minimum}" if maximum is None else f"between {minimum} and {maximum}"
        raise ProgramError(f"The {what} must be {bounds}.", operator=operator, detail=f"got {value}")
    return value


def require_text(value: Any, what: str, operator: str | None = None) -> str:
    """``value`` is a text that is not empty."""
    if not isinstance(value, str):
        raise WrongArgumentError(f"The {what} must be a text.", operator=operator, detail=f"got {value!r}")
    if not value:
        raise ProgramError(f"The {what} must not be empty.", operator=operator)
    return value


def require_id(value: Any, what: str, operator: str | None = None) -> str:
    """``value`` is a text that can be encoded: it is hashed, written into files or shown by Spark."""
    try:
        require_text(value, what, operator).encode()
    except UnicodeEncodeError:
        raise ProgramError(
            f"The {what} holds half of a surrogate pair.", operator=operator, detail=f"got {value!r}"
        ) from None
    return str(value)


def _function_base(function_class: type) -> type:
    """The root of the function classes that ``function_class`` belongs to."""
    for ancestor in reversed(function_class.__mro__):
        if ancestor.__name__ == "Function":
            return ancestor
    return function_class


def _is_other_function(function: Any, function_class: type) -> bool:
    return isinstance(function, _function_base(function_class))


def _describe(value: Any) -> str:
    name = getattr(value, "__qualname__", None)
    if isinstance(value, type):
        return f"the class {name}"
    return f"the function {name}" if name else f"{value!r} of type {type(value).__name__}"


# ---- what can be sent to the workers ----


class _Discard:
    """A file that forgets: a large captured object is checked without a second copy of it."""

    def write(self, data: Any) -> int:
        return len(data) if isinstance(data, bytes) else memoryview(data).nbytes


def check_picklable(function: Any, operator_name: str) -> None:
    """Raise ``UnpicklableFunctionError`` when ``function`` cannot be sent to the workers; the error names
    the variable, attribute or global at fault."""
    function = getattr(function, "function", function) if isinstance(function, OperatorSpec) else function
    error = _pickling_error(function)
    if error is None:
        return
    path, culprit = _find_culprit(function, "", 0, set())
    what = (
        f"{path} (a {type(culprit).__name__})"
        if path
        else f"the function itself (a {type(culprit).__name__})"
    )
    raise UnpicklableFunctionError(
        "The function cannot be sent to the workers.",
        operator=operator_name,
        detail=f"{what} cannot be pickled: {type(error).__name__}: {error}".splitlines()[0],
        hint="make it in open() of a function class, which runs in the worker, instead of taking it along",
    ) from error


def _pickling_error(value: Any) -> Exception | None:
    import cloudpickle  # not needed by programs that only look at the API

    try:
        cloudpickle.dump(value, _Discard(), protocol=5)
    except Exception as error:  # what a user's __reduce__ raises may be anything
        return error
    return None


def _find_culprit(value: Any, path: str, depth: int, seen: set[int]) -> tuple[str, Any]:
    """The innermost thing that cannot be pickled on its own, and how the program names it."""
    seen.add(id(value))
    if depth < _MAX_DEPTH:
        for name, child in _parts(value):
            if id(child) not in seen and _pickling_error(child) is not None:
                return _find_culprit(child, f"{path}, {name}" if path else name, depth + 1, seen)
    return path, value


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a pickle of ``value`` takes along, with the words for it."""
    if isinstance(value, MethodType):
        yield f"the object of method {value.__name__!r}", value.__self__
    elif isinstance(value, FunctionType):
        yield from _function_parts(value)
    elif isinstance(value, partial):
        yield "the function of the partial", value.func
        yield from ((f"argument {i} of the partial", a) for i, a in enumerate(value.args))
        yield from ((f"argument {k!r} of the partial", a) for k, a in value.keywords.items())
    elif isinstance(value, type):
        for name, member in vars(value).items():
            if isinstance(member, FunctionType):
                yield f"method {name!r}", member
            elif not name.startswith("__"):
                yield f"class attribute {name!r}", member
    elif isinstance(value, dict):
        yield from ((f"the entry {k!r}", v) for k, v in value.items())
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from ((f"element {i}", v) for i, v in enumerate(value))
    elif is_dataclass(value):  # connectors and operators, which have slots
        yield from ((f"attribute {f.name!r}", getattr(value, f.name)) for f in fields(value))
    elif not isinstance(value, ModuleType):
        yield from ((f"attribute {k!r}", v) for k, v in getattr(value, "__dict__", {}).items())
        yield f"class {type(value).__name__}", type(value)


def _function_parts(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"variable {name!r}", cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    for name in sorted(_global_names(function.__code__)):
        if name in function.__globals__:
            yield f"global {name!r}", function.__globals__[name]
    for default in function.__defaults__ or ():
        yield "the default of a parameter", default
    for name, default in (function.__kwdefaults__ or {}).items():
        yield f"the default of parameter {name!r}", default


def _global_names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _global_names(constant)
    return names


def require_merge(aggregate_function: Any, operator: str, *, detail: str, hint: str) -> None:
    """The aggregate function can merge accumulators; many leave ``merge`` out, which only sessions call.

    It is asked to merge two accumulators that are empty, which some cannot and need not.
    """
    try:
        empty, other = aggregate_function.create_accumulator(), aggregate_function.create_accumulator()
        missing = aggregate_function.merge(empty, other) is None and empty is not None
    except NotImplementedError:
        missing = True
    except Exception:
        return
    if missing:
        raise ProgramError(
            f"{type(aggregate_function).__name__}.merge() is not implemented.",
            operator=operator,
            detail=detail,
            hint=hint,
        )


def require_no_life(
    function: Any, function_class: type, operator: str, *, detail: str, hint: str | None
) -> None:
    """Refuse a function that defines ``open`` or ``close`` (Flink: a ``RichFunction``) where they would
    never be called."""
    if not isinstance(function, function_class):
        return
    for hook in ("open", "close"):
        if getattr(type(function), hook) is not getattr(function_class, hook):
            raise UnsupportedFeatureError(
                f"{type(function).__name__}.{hook}() would never be called.",
                operator=operator,
                detail=detail,
                hint=hint,
            )


def as_callable(function: Any, function_class: type, method: str, operator: str) -> Callable[..., Any]:
    """A KeySelector or Partitioner, or a plain callable, as a callable; the worker finds the object whose
    ``open`` and ``close`` are to be called behind the method."""
    require_callable(function, function_class, operator)
    is_object = isinstance(function, function_class)
    found: Callable[..., Any] = getattr(function, method) if is_object else function
    return found


def property_value(key: str, value: Any, operator: str) -> str:
    """A property as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise WrongArgumentError("The value of a property is text.", operator=operator, detail=f"{key}={value!r}")
