"""Types, jobs, futures, schemas, restart strategies, errors."""

import concurrent.futures
import datetime as dt
import pickle
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from firesteel.common import (
    ByteArraySchema,
    CompletableFuture,
    Encoder,
    Instant,
    JobClient,
    JobExecutionResult,
    JobID,
    JobStatus,
    RestartStrategies,
    Row,
    RowKind,
    SimpleStringSchema,
    Types,
    errors,
)
from firesteel.common.errors import FiresteelError, ProgramError, TypeMismatchError, UnsupportedFeatureError
from firesteel.common.serialization import RowFieldExtractorSchema
from firesteel.common.typeinfo import ExternalTypeInfo, LocalTimeTypeInfo, RowTypeInfo, TypeInformation
from firesteel.formats.types_to_arrow import to_arrow_schema, to_arrow_type

NAMED = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])

REPRS = [
    (Types.STRING(), "String"),
    (Types.INT(), "Integer"),
    (Types.BIG_DEC(), "BigDecimal"),
    (Types.INSTANT(), "Instant"),
    (Types.CHAR(), "Char"),
    (Types.SQL_DATE(), "DateTypeInfo"),
    (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
    (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
    (Types.ROW([Types.INT()]), "RowTypeInfo(Integer)"),
    (NAMED, "RowTypeInfo(a: Integer, b: String)"),
    (Types.TUPLE([Types.INT(), Types.LONG()]), "TupleTypeInfo(Integer, Long)"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), "PrimitiveArrayTypeInfo<Integer>"),
    (Types.BASIC_ARRAY(Types.STRING()), "BasicArrayTypeInfo<String>"),
    (Types.OBJECT_ARRAY(Types.STRING()), "ObjectArrayTypeInfo<String>"),
    (Types.MAP(Types.INT(), Types.STRING()), "MapTypeInfo<Integer, String>"),
    (Types.LIST(Types.STRING()), "ListTypeInfo<String>"),
]


@pytest.mark.parametrize(("type_info", "text"), REPRS)
def test_types_are_values_with_pyflinks_repr(type_info, text):
    assert repr(type_info) == str(type_info) == text
    same = pickle.loads(pickle.dumps(type_info))
    assert same == type_info
    assert hash(same) == hash(type_info)
    assert sum(type_info == other for other, _ in REPRS) == 1


def test_row_types():
    assert Types.ROW([Types.INT(), Types.STRING()]) == NAMED  # names do not matter, as in PyFlink
    assert Types.ROW([Types.INT()]).get_field_names() == ["f0"]
    assert (NAMED.get_field_index("b"), Types.ROW([Types.INT()]).get_field_index("f0")) == (1, -1)
    for call in (
        lambda: Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()]),
        lambda: Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()]),
        lambda: Types.TUPLE([Types.INT]),
        lambda: Types.TUPLE(Types.INT()),
        lambda: Types.PRIMITIVE_ARRAY(Types.STRING()),
        lambda: Types.LIST(int),
    ):
        with pytest.raises(ProgramError):
            call()


def test_internal_forms():
    row = Types.ROW([Types.INT(), Types.SQL_DATE()])
    assert row.to_internal_type(Row.of_kind(RowKind.DELETE, 1, dt.date(1970, 1, 3))) == (3, 1, 2)
    assert NAMED.to_internal_type({"b": "x", "a": 1}) == (0, 1, "x")
    assert NAMED.to_internal_type(SimpleNamespace(a=1, b="x")) == (0, 1, "x")
    assert Types.TUPLE([Types.SQL_TIME()]).to_internal_type([dt.time(0, 0, 1)]) == (1_000_000,)
    with pytest.raises(ValueError, match="5"):
        NAMED.to_internal_type(5)
    for type_info, value in (
        (Types.SQL_DATE(), dt.date(2020, 1, 2)),
        (Types.SQL_TIME(), dt.time(3, 4, 5, 678901)),
        (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 2, 3, 4, 5, 678901)),
        (Types.INSTANT(), Instant(1, 5_000_000)),
        (Types.INT(), 5),
    ):
        assert type_info.from_internal_type(type_info.to_internal_type(value)) == value
        assert type_info.to_internal_type(None) is None


def test_arrow_types():
    pa = pytest.importorskip("pyarrow")
    assert to_arrow_schema(NAMED) == pa.schema([("a", pa.int32()), ("b", pa.string())])
    tuple_schema = to_arrow_schema(Types.TUPLE([Types.FLOAT()]))
    assert tuple_schema == pa.schema([pa.field("f0", pa.float32(), nullable=False)])
    assert to_arrow_schema(Types.LONG()).names == ["value"]
    assert to_arrow_type(Types.PRIMITIVE_ARRAY(Types.BYTE())) == pa.binary()
    assert to_arrow_type(Types.MAP(Types.STRING(), Types.BIG_DEC())) == pa.map_(
        pa.string(), pa.decimal128(38, 18)
    )
    assert to_arrow_type(ExternalTypeInfo(NAMED)) == pa.struct([("a", pa.int32()), ("b", pa.string())])
    assert to_arrow_type(LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME)) == pa.time64("us")
    with pytest.raises(UnsupportedFeatureError, match="PickledByteArrayTypeInfo"):
        to_arrow_type(Types.PICKLED_BYTE_ARRAY())
    with pytest.raises(UnsupportedFeatureError, match="at b"):
        to_arrow_type(Types.ROW_NAMED(["b"], [Types.PICKLED_BYTE_ARRAY()]))
    with pytest.raises(UnsupportedFeatureError, match="without a declared type"):
        to_arrow_type(None)


@pytest.mark.row("S-LIFE-09")
def test_job_status():
    assert {s.name for s in JobStatus if s.is_globally_terminal_state()} == {"FAILED", "CANCELED", "FINISHED"}
    assert {s.name for s in JobStatus if s.is_terminal_state()} == {
        "FAILED",
        "CANCELED",
        "FINISHED",
        "SUSPENDED",
    }


def test_job_id():
    text = "00112233445566778899AABBCCDDEEFF"
    assert str(JobID(text)) == text.lower()
    assert JobID(text) == JobID(text.lower())
    assert JobID() != JobID()
    assert len(str(JobID())) == 32
    with pytest.raises(ProgramError):
        JobID("xyz")


def test_job_execution_result():
    result = JobExecutionResult(JobID("0" * 32), 12, {"n": 3})
    assert (result.get_net_runtime(), result.get_accumulator_result("n")) == (12, 3)
    assert result.get_accumulator_result("none") is None
    assert result.get_all_accumulator_results() == {"n": 3}
    assert result.is_job_execution_result()
    assert "Job Runtime: 12 ms" in str(result)


def test_job_client_asks_its_handle():
    calls = []

    class Handle:
        job_id = JobID("0" * 32)

        def __getattr__(self, name):
            return lambda *args: calls.append((name, *args)) or CompletableFuture.completed(name)

    client = JobClient(Handle())
    assert client.get_job_id() == Handle.job_id
    assert client.get_job_status().result() == "get_job_status"
    client.cancel()
    client.stop_with_savepoint(True)
    client.trigger_savepoint("dir")
    client.get_accumulators()
    client.get_job_execution_result()
    assert calls[1:] == [
        ("cancel",),
        ("stop_with_savepoint", True, None),
        ("trigger_savepoint", "dir"),
        ("get_accumulators",),
        ("get_job_execution_result",),
    ]


def test_future():
    future = CompletableFuture()
    assert (future.done(), future.exception()) == (False, None)
    with pytest.raises(TimeoutError):
        future.result(0.001)
    threading.Timer(0.01, future.set_result, [5]).start()
    assert future.result() == 5
    assert future.done()
    assert not future.set_result(6)
    assert not future.set_exception(ValueError())
    assert future.exception() is None
    assert str(future) == "CompletableFuture[Completed normally]"
    assert CompletableFuture(future._future, str).result() == "5"

    failed = CompletableFuture.failed(KeyError("x"))
    assert isinstance(failed.exception(), KeyError)
    with pytest.raises(KeyError):
        failed.result()

    cancelled = CompletableFuture()
    assert cancelled.cancel()
    assert (cancelled.cancelled(), cancelled.done()) == (True, True)
    assert isinstance(cancelled.exception(), concurrent.futures.CancelledError)
    assert str(cancelled) == "CompletableFuture[Completed exceptionally]"


def test_schemas():
    schema = SimpleStringSchema()
    assert schema.serialize("é") == "é".encode()
    assert schema.deserialize(b"a\xff") == "a\ufffd"
    assert SimpleStringSchema("latin-1").serialize("é€") == b"\xe9?"
    assert schema.get_produced_type() == Types.STRING()
    assert ByteArraySchema().deserialize(ByteArraySchema().serialize(bytearray(b"x"))) == b"x"
    assert RowFieldExtractorSchema(1).serialize(Row(1, b"k")) == b"k"
    for call in (lambda: schema.serialize(5), lambda: RowFieldExtractorSchema(0).serialize(Row(1))):
        with pytest.raises(TypeMismatchError):
            call()
    with pytest.raises(ValueError, match="-1"):
        RowFieldExtractorSchema(-1)
    with pytest.raises(ProgramError):
        SimpleStringSchema("nonsense")


def test_encoder():
    encoder = Encoder.simple_string_encoder()
    assert encoder.encode((1, "é")) == "(1, 'é')\n".encode()
    assert encoder.with_formatter(lambda value: f"<{value}>").encode(1) == b"<1>\n"


def test_restart_strategies():
    fixed = RestartStrategies.fixed_delay_restart(3, 1000)
    assert fixed == RestartStrategies.fixed_delay_restart(3, dt.timedelta(seconds=1))
    assert fixed != RestartStrategies.fixed_delay_restart(4, 1000)
    assert fixed.get_delay_between_attempts_interval() == dt.timedelta(seconds=1)
    assert fixed.get_description() == "Restart with fixed delay (1000 ms). #3 restart attempts."
    rate = RestartStrategies.failure_rate_restart(3, dt.timedelta(minutes=5), 1000)
    assert (rate.get_max_failure_rate(), rate.get_failure_interval()) == (3, dt.timedelta(minutes=5))
    assert (
        RestartStrategies.no_restart()
        == RestartStrategies.no_restart()
        != RestartStrategies.fall_back_restart()
    )
    assert RestartStrategies.exponential_delay_restart(1, 2, 1.5, 3, 0.1).max_backoff_ms == 2
    with pytest.raises(TypeError):
        RestartStrategies.fixed_delay_restart(3, "1 s")
    with pytest.raises(ProgramError):
        RestartStrategies.fixed_delay_restart(-1, 1000)
    with pytest.raises(ProgramError):
        RestartStrategies.exponential_delay_restart(1, 2, 0.5, 3, 0.1)


ERRORS = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, FiresteelError)]


@pytest.mark.parametrize("cls", ERRORS)
def test_errors_show_and_pickle_what_they_carry(cls):
    error = cls("what", detail="more", hint="do", operator="map", uid="u", subtask=0)
    assert str(error).splitlines() == [
        "what", "  operator: map", "  uid: u", "  subtask: 0", "  detail: more", "  hint: do",
    ]  # fmt: skip
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is cls
    assert other.__dict__ == error.__dict__
    assert str(cls("only this")) == "only this"


def test_errors_fit_pythons():
    assert issubclass(errors.ProgramError, ValueError)
    assert issubclass(errors.TypeMismatchError, TypeError)
    assert issubclass(errors.UnsupportedFeatureError, NotImplementedError)
    assert issubclass(errors.PathNotFoundError, FileNotFoundError)
    assert pickle.loads(pickle.dumps(errors.JobExecutionError("x", job_id="1"))).job_id == "1"


def test_a_type_of_another_package_is_left_alone():
    class Foreign(TypeInformation):
        pass

    assert Foreign() == Foreign()
    assert repr(RowTypeInfo([Foreign()])) == "RowTypeInfo(Foreign)"


def test_import_is_light():
    code = (
        "import sys, firesteel.common, firesteel.formats.types_to_arrow;"
        "print(sorted({'pyarrow', 'pyspark', 'numpy', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
