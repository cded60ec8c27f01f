"""What the answers say of jobs: numbers, times, texts."""

from __future__ import annotations

import base64
import threading
from pathlib import Path
from typing import Any

import lmdb
import pytest
from msgspec.structs import replace

from docs.drawing.pages import DOCS
from firesteel.datastream import MapFunction, RuntimeContext, RuntimeExecutionMode
from firesteel.jobmanager.checkpoints.statistics import (
    CheckpointReport,
    CheckpointStatistics,
    CheckpointStatus,
    CheckpointsView,
    InProgress,
    SubtaskState,
)
from firesteel.jobmanager.job_view import OperatorInfo, VertexInfo
from firesteel.monitoring.values import job_values
from firesteel.rest.answers.checkpoints import checkpoint_details, checkpoints, task_details
from firesteel.rest.answers.plan import description
from firesteel.state.backends import BACKENDS
from firesteel.testing import MiniCluster
from tests.rest.jobs import Jobs, settings
from tests.rest.support import UNKNOWN, as_recorded, finished, recorded, served
from tests.rest.test_size import view
from tests.runtime.support import LiveSource, punctuated
from tests.state.test_manifest import MANIFEST
from tests.waiting import patience, until

V = "/jobs/{jobid}/vertices/{vertexid}"


def operator(name: str, behind: str | None = None) -> OperatorInfo:
    return OperatorInfo(name, name, name, None, behind)


@pytest.mark.parametrize(
    ("operators", "text"),
    [
        ((operator("enrich"),), "enrich<br/>"),
        (
            (operator("Source: numbers"), operator("pick", "Source: numbers"), operator("Sink: out", "pick")),
            "Source: numbers<br/>+- pick<br/>   +- Sink: out<br/>",
        ),
        (
            (
                operator("running total"),
                operator("Sink: print totals", "running total"),
                operator("Map, Map", "running total"),
                operator("Sink: print side", "Map, Map"),
            ),
            "running total<br/>:- Sink: print totals<br/>+- Map, Map<br/>   +- Sink: print side<br/>",
        ),
        ((operator("a"), operator("b", "a"), operator("c", "b"), operator("d", "a")),
         "a<br/>:- b<br/>:  +- c<br/>+- d<br/>"),
        ((operator("ROW<`id` BIGINT>"),), "ROW&lt;`id` BIGINT&gt;<br/>"),
    ],
)  # fmt: skip
def test_the_chain_of_a_vertex_is_a_tree(operators: tuple[OperatorInfo, ...], text: str) -> None:
    """The second and third as a real Flink has written them."""
    vertex = VertexInfo("v", "v", 1, 128, "default", 0, operators, ())
    assert description(vertex) == text


def test_recorded_trees_are_of_this_kind() -> None:
    texts = [n["description"] for e in recorded("GET /jobs/{jobid}/plan") for n in e.body["plan"]["nodes"]]
    assert "running total<br/>:- Sink: print totals<br/>+- Map, Map<br/>   +- Sink: print side<br/>" in texts


@pytest.mark.row("S-NET-11")
def test_a_plan_begins_with_the_last_vertex(jobs: Jobs) -> None:
    nodes = jobs.get("/jobs/{jobid}/plan")["plan"]["nodes"]
    assert "inputs" not in nodes[-1], "a source"
    ids = [node["id"] for node in nodes]
    for node in nodes:
        for edge in node.get("inputs", ()):
            assert ids.index(edge["id"]) > ids.index(node["id"])
            assert edge["exchange"] == "pipelined_bounded"
            assert edge["ship_strategy"] == "HASH"


class Slow(LiveSource):
    """A source whose service does not answer until it is told to."""

    def create_enumerator(self, context: Any) -> Any:
        enumerator = super().create_enumerator(context)
        enumerator.open = lambda: answers.wait(patience(30))  # type: ignore[method-assign, assignment]
        return enumerator


answers = threading.Event()


@pytest.mark.row("S-LIFE-02")
def test_a_job_whose_sources_are_not_open_yet_is_initializing() -> None:
    answers.clear()
    with MiniCluster.in_process() as cluster, served() as (client, _):
        env = cluster.environment()
        env.from_source(Slow("slow"), punctuated(), "slow").map(lambda value: value)
        handle = env.execute_async("slow")
        job = f"/jobs/{handle.get_job_id()}"

        def states() -> set[str]:
            return {client.get(job).json()["state"], client.get("/jobs/overview").json()["jobs"][0]["state"]}

        assert states() == {"INITIALIZING"}
        assert client.get(f"{job}/status").json() == {"status": "INITIALIZING"}
        answers.set()
        until(lambda: states() == {"RUNNING"})
        entered = client.get(job).json()["timestamps"]
        assert 0 < entered["INITIALIZING"] <= entered["CREATED"] <= entered["RUNNING"]
        handle.cancel().result(patience(30))


class Tallies(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def map(self, value: int) -> int:
        self.seen.inc()
        return value


@pytest.mark.row("S-METR-12")
def test_a_counter_of_the_user_has_counted_each_record() -> None:
    with MiniCluster.in_process() as cluster, served() as (client, _):
        env = cluster.environment()
        env.from_collection(range(100)).key_by(lambda n: n).map(Tallies()).name("tally").print()
        job = f"/jobs/{env.execute('tallies').get_job_id()}"
        (vertex,) = (v for v in client.get(job).json()["vertices"] if "tally" in v["name"])
        metrics = f"{job}/vertices/{vertex['id']}/metrics"
        names = [m["id"] for m in client.get(metrics).json() if m["id"].endswith("tally.seen")]
        assert len(names) == vertex["parallelism"] > 1
        values = [int(m["value"]) for m in client.get(f"{metrics}?get={','.join(names)}").json()]
        assert sum(values) == 100
        assert all(values)


@pytest.mark.row("S-NET-11")
def test_the_kind_of_an_exchange_is_that_of_the_job_and_explained(jobs: Jobs) -> None:
    nodes = jobs.get("/jobs/{jobid}/plan", "word count, batch")["plan"]["nodes"]
    assert {edge["exchange"] for node in nodes for edge in node.get("inputs", ())} == {"blocking"}
    (row,) = (
        s for s in (DOCS / "rest.md").read_text().splitlines() if s.startswith("| `exchange` of an edge")
    )
    assert "in epochs they wait at a stage of Spark" in row


def test_counters_of_subtasks_add_up(jobs: Jobs) -> None:
    page = jobs.get("/jobs/{jobid}", "word count")
    source, keyed = page["vertices"][0], page["vertices"][-1]
    assert source["metrics"]["read-records"] == 0, "it has no input, as Flink sees it"
    assert source["metrics"]["write-records"] == keyed["metrics"]["read-records"] == 60
    details = jobs.get(V, "word count", vertexid=keyed["id"])
    assert sum(s["metrics"]["read-records"] for s in details["subtasks"]) == 60
    assert details["aggregated"]["metrics"]["read-records"]["sum"] == 60
    busy = [s["metrics"]["accumulated-busy-time"] for s in details["subtasks"]]
    assert details["aggregated"]["metrics"]["accumulated-busy-time"]["sum"] == sum(busy) >= 0
    assert keyed["metrics"]["read-bytes"] > 0


def test_times_of_a_subtask_follow_each_other(jobs: Jobs) -> None:
    vertexid = jobs.vertex("count", "word count")
    (first, _) = jobs.get(f"{V}/subtasktimes", "word count", vertexid=vertexid)["subtasks"]
    states = ["CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING", "FINISHED"]
    times = [first["timestamps"][state] for state in states]
    assert times == sorted(times)
    assert all(times)
    assert first["duration"] == times[-1] - times[1]
    attempt = jobs.get(f"{V}/subtasks/0", "word count", vertexid=vertexid)
    assert attempt["start-time"] == attempt["start_time"] == times[2]
    assert attempt["end-time"] - attempt["start-time"] == attempt["duration"]


@pytest.mark.row("S-FAIL-13")
def test_a_failed_job_shows_the_users_error(jobs: Jobs) -> None:
    newest, first = jobs.get("/jobs/{jobid}/exceptions", "failing")["exceptionHistory"]["entries"]
    assert newest["timestamp"] >= first["timestamp"]
    assert newest["exceptionName"] == "ValueError"
    assert "no such order" in newest["stacktrace"]
    assert newest["taskName"].endswith("(1/1) - execution #1")
    assert first["taskName"].endswith("(1/1) - execution #0")
    limited = jobs.get("/jobs/{jobid}/exceptions?maxExceptions=1", "failing")["exceptionHistory"]
    assert (len(limited["entries"]), limited["truncated"]) == (1, True)
    none = jobs.get("/jobs/{jobid}/exceptions?failureLabelFilter=a:b", "failing")
    assert none["exceptionHistory"]["entries"] == []


def test_the_client_of_java_gets_the_users_traceback(jobs: Jobs) -> None:
    result = jobs.get("/jobs/{jobid}/execution-result", "failing")["job-execution-result"]
    cause = result["failure-cause"]
    assert cause["class"] == "ValueError"
    shown = base64.b64decode(cause["serialized-throwable"])
    assert b"no such order\n\nTraceback in the worker" in shown, "the message, which is printed"
    assert b'raise ValueError("no such order")' in shown


def test_accumulators_of_a_job(jobs: Jobs) -> None:
    found = jobs.get("/jobs/{jobid}/accumulators", "word count")["user-task-accumulators"]
    assert found == [{"name": "seen", "type": "IntCounter", "value": "60"}]


def test_metrics_of_a_vertex(jobs: Jobs) -> None:
    vertexid = jobs.vertex("count", "word count")
    names = {m["id"] for m in jobs.get(f"{V}/metrics", "word count", vertexid=vertexid)}
    assert {"0.numRecordsIn", "1.numRecordsIn", "0.count.numRecordsOut", "0.currentInputWatermark"} <= names
    asked = f"{V}/metrics?get=0.numRecordsIn,1.numRecordsIn,0.nothing"
    values = jobs.get(asked, "word count", vertexid=vertexid)
    assert [m["id"] for m in values] == ["0.numRecordsIn", "1.numRecordsIn"], "unknown ones are left out"
    assert sum(int(m["value"]) for m in values) == 60
    (together,) = jobs.get(
        f"{V}/subtasks/metrics?get=numRecordsIn&agg=sum,max", "word count", vertexid=vertexid
    )
    assert together.keys() == {"id", "sum", "max"}
    assert together["sum"] == 60
    (one,) = jobs.get(f"{V}/subtasks/metrics?get=numRecordsIn&subtasks=1", "word count", vertexid=vertexid)
    assert (one["min"], one["skew"]) == (float(values[1]["value"]), 0.0)
    assert jobs.get(f"{V}/subtasks/9/metrics", "word count", vertexid=vertexid) == []
    jobs.get(f"{V}/subtasks/metrics?get=a&agg=mean", "word count", 400, vertexid=vertexid)
    jobs.get(f"{V}/subtasks/metrics?get=a&subtasks=0-9999999", "word count", 400, vertexid=vertexid)


def test_metrics_of_a_job(jobs: Jobs) -> None:
    asked = "/jobs/{jobid}/metrics?get=numRestarts,uptime,lastCompletedCheckpointId,runningTime"
    values = {m["id"]: m["value"] for m in jobs.get(asked, "failing")}
    assert values == {
        "numRestarts": "1",
        "uptime": "-1",
        "lastCompletedCheckpointId": "-1",
        "runningTime": "0",
    }
    running = {m["id"]: m["value"] for m in jobs.get(asked)}
    assert int(running["runningTime"]) == int(running["uptime"]) > 0


def test_names_of_metrics_are_those_that_a_real_flink_lists(jobs: Jobs) -> None:
    ours = {m["id"] for m in jobs.get("/jobs/{jobid}/metrics")}
    theirs = {m["id"] for m in recorded("GET /jobs/{jobid}/metrics", "metric names")[0].body}
    assert theirs <= ours


@pytest.mark.row("S-CKPT-45", "S-SLOT-29")
def test_a_checkpoint_by_subtask(jobs: Jobs) -> None:
    def newest() -> int:
        return int(jobs.get("/jobs/{jobid}/checkpoints")["latest"]["completed"]["id"])

    vertexid = jobs.vertex("running total")
    details = jobs.get("/jobs/{jobid}/checkpoints/details/{number}", number=str(newest()))
    of_vertex = details["tasks"][vertexid]
    assert of_vertex["num_acknowledged_subtasks"] == of_vertex["num_subtasks"] == 2
    assert of_vertex["state_size"] > 0
    assert sum(task["state_size"] for task in details["tasks"].values()) <= details["state_size"]
    path = "/jobs/{jobid}/checkpoints/details/{number}/subtasks/{vertexid}"
    subtasks = jobs.get(path, number=str(newest()), vertexid=vertexid)
    sizes = [s["state_size"] for s in subtasks["subtasks"]]
    assert len(sizes) == 2
    assert subtasks["summary"]["state_size"]["max"] == max(sizes)
    assert subtasks["summary"]["state_size"]["p50"] == "NaN", "as in Flink"


def test_secrets_are_masked(tmp_path: Path) -> None:
    with MiniCluster.in_process() as mini, served() as (client, _):
        configuration = settings(
            tmp_path,
            **{
                "restart-strategy.type": "none",
                "pipeline.global-job-parameters.db.password": "hunter2hunter2",
                "my.token": "t0ken-t0ken",
            },
        )
        env = mini.environment(configuration)
        env.from_collection([1]).map(lambda n: 1 // 0 if "hunter2hunter2" else n).print()
        job_id = env.execute_async("secretive").get_job_id()
        until(lambda: client.get(f"/jobs/{job_id}/status").json()["status"] == "FAILED")
        said = client.get(f"/jobs/{job_id}/config").text
        assert "******" in said
        pages = ("", "/config", "/exceptions", "/execution-result", "/jobmanager/config")
        everything = "".join(client.get(f"/jobs/{job_id}{page}").text for page in pages)
        assert "hunter2hunter2" not in everything
        assert "t0ken-t0ken" not in everything


def test_latencies_have_the_names_of_flink(tmp_path: Path) -> None:
    with MiniCluster.in_process() as mini, served() as (client, _):
        env = mini.environment(settings(tmp_path, **{"metrics.latency.interval": "1 ms"}))
        env.from_sequence(0, 9).key_by(lambda n: n % 2).map(lambda n: n).name("last").print().name("out")
        job_id = env.execute("measured").get_job_id()
        source, last = reversed(client.get(f"/jobs/{job_id}/plan").json()["plan"]["nodes"])
        path = f"/jobs/{job_id}/vertices/{last['id']}/metrics"
        names = {metric["id"] for metric in client.get(path).json()}
        marked = f"latency.source_id.{source['id']}.operator_id.{last['id']}.operator_subtask_index"
        # A marker goes one way at each place: those of one epoch may all miss a subtask.
        number = next(n for n in range(2) if any(name.startswith(f"{n}.{marked}.{n}.") for name in names))
        prefix = f"{number}.{marked}.{number}.latency_"
        assert {name.removeprefix(prefix) for name in names if name.startswith(prefix)} >= {
            "min", "max", "mean", "median", "stddev", "p75", "p90", "p95", "p98", "p99", "p999",
        }  # fmt: skip
        (p99,) = client.get(path, params={"get": f"{prefix}p99"}).json()
        assert 0 <= float(p99["value"]) < 60_000
        (both,) = client.get(
            f"/jobs/{job_id}/vertices/{last['id']}/subtasks/metrics",
            params={"get": prefix.removeprefix(f"{number}.") + "max", "agg": "max"},
        ).json()
        assert both["max"] >= float(p99["value"])


def test_kept_streams_are_data_sets(tmp_path: Path) -> None:
    with MiniCluster.in_process() as mini, served() as (client, _):
        env = mini.environment()
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        kept = env.from_collection(range(10)).map(lambda n: n + 1).cache()
        assert sum(kept.execute_and_collect()) == 55
        (data_set,) = client.get("/datasets").json()["dataSets"]
        assert data_set["isComplete"] is True
        answer = client.delete(f"/datasets/{data_set['id']}")
        assert as_recorded("DELETE /datasets/{datasetid}", answer.status_code, answer.json()) == []
        assert finished(client, f"/datasets/delete/{answer.json()['request-id']}")["operation"] == {}
        refused = client.get(f"/datasets/delete/{UNKNOWN}")
        assert as_recorded("GET /datasets/delete/{triggerid}", refused.status_code, refused.json()) == []
        assert client.get("/datasets").json() == {"dataSets": []}
        trigger = client.delete(f"/datasets/{data_set['id']}").json()["request-id"]
        done = finished(client, f"/datasets/delete/{trigger}")
        assert "There is no data set" in done["operation"]["failure-cause"]["stack-trace"]
        assert sum(kept.execute_and_collect()) == 55, "it is computed again"


@pytest.mark.row("S-NET-16")
def test_back_pressure_once_the_job_was_watched(jobs: Jobs) -> None:
    path = "/jobs/{jobid}/vertices/{vertexid}/backpressure"
    vertex = jobs.vertex("running total")
    until(lambda: jobs.get(path, vertexid=vertex)["status"] == "ok")
    found = jobs.get(path, vertexid=vertex)
    assert as_recorded(f"GET {path}", 200, found, "a keyed vertex") == []
    assert found["backpressureLevel"] == found["backpressure-level"]
    for subtask in found["subtasks"]:
        total = subtask["ratio"] + subtask["idleRatio"] + subtask["busyRatio"]
        assert total == pytest.approx(1, abs=0.01)


def test_epochs_of_a_job(jobs: Jobs) -> None:
    found = jobs.get("/firesteel/v1/jobs/{jobid}/epochs", "word count")
    assert sum(epoch["records"] for epoch in found["epochs"]) == found["records_read"] == 60
    assert found["epoch"] == found["epochs"][-1]["epoch"]
    newer = jobs.get(f"/firesteel/v1/jobs/{{jobid}}/epochs?since={found['epoch']}", "word count")
    assert newer["epochs"] == []


@pytest.mark.row("S-LIB-03")
def test_the_engines_that_keep_the_state_are_named(jobs: Jobs) -> None:
    found = jobs.get("/firesteel/v1/jobs/{jobid}/state-backend", "word count")
    assert (found["backend"], found["flink_class"]) == ("hashmap", "HashMapStateBackend")
    assert found["stores"] == ["sorted runs of Firesteel, format 1"]
    assert found["memory_bytes"] == 512 << 20
    version = ".".join(map(str, lmdb.version()))
    assert BACKENDS["rocksdb"].stores == (*found["stores"], f"LMDB {version}")


@pytest.mark.row("S-CTRL-20", "S-STATE-28")
def test_the_state_of_a_job_that_runs(jobs: Jobs) -> None:
    found = jobs.get("/firesteel/v1/jobs/{jobid}/states")
    (state,) = found["states"]
    assert (state["operator_name"], state["kind"], state["operator"]) == ("running total", "value", None)
    asked = "/firesteel/v1/jobs/{{jobid}}/states/value?operator={}&state={}&key={}"
    path = asked.format(state["operator_id"], state["name"], 1)
    first = jobs.get(path)
    key, count = first["value"]
    assert key == 1
    assert 0 < count <= first["epoch"] * 1000
    until(lambda: jobs.get(path)["value"][1] > count)
    assert jobs.get(asked.format(state["operator_id"], state["name"], 3))["value"] is None
    assert not [e for e in jobs.cluster.job(jobs.ids["orders"]).journal.events if "state" in str(e).lower()]
    (refused,) = jobs.get(asked.format(state["operator_id"], "none", 1), status=400)["errors"]
    assert "has no state 'none'" in refused
    (refused,) = jobs.get(asked.format("nobody", "none", 1), status=400)["errors"]
    assert "The job holds nothing of an operator with the uid 'nobody'" in refused
    (refused,) = jobs.get("/firesteel/v1/jobs/{jobid}/states", "word count", 400)["errors"]
    assert "it has ended" in refused


IN_TAKING = [
    (InProgress(4, False, 1_000), 0, -1),
    (InProgress(4, False, 1_000, 7.2, (SubtaskState(f"{1:032x}", 1, 70, 7),)), 4, 1_007),
    (InProgress(4, True, 1_000, 7.2), 4, 1_007),
]


def subtasks_of(found: Any) -> tuple[int, int]:
    return found.num_acknowledged_subtasks, found.num_subtasks


@pytest.mark.row("S-CKPT-45")
@pytest.mark.parametrize(("pending", "answered", "at_ms"), IN_TAKING)
def test_a_checkpoint_that_is_being_taken_says_what_its_vertices_say(
    pending: InProgress, answered: int, at_ms: int
) -> None:
    job = replace(view(1, 4), checkpoints=CheckpointsView(in_progress=pending))
    (row,) = checkpoints(job, 10).history
    details = checkpoint_details(job, 4)
    assert subtasks_of(row) == subtasks_of(details) == (answered, 4)
    assert row.latest_ack_timestamp == details.latest_ack_timestamp == at_ms
    assert {subtasks_of(task) for task in details.tasks.values()} == {(answered // 2, 2)}
    assert row.state_size == sum(task.state_size for task in details.tasks.values())
    for vertex in job.vertices:
        task = task_details(job, 4, vertex)
        assert (task.status, subtasks_of(task)) == ("IN_PROGRESS", (answered // 2, 2))
        assert [s.class_name for s in task.subtasks] == ["completed" if answered else "pending"] * 2


@pytest.mark.parametrize("written", [True, False])
def test_a_checkpoint_that_failed_keeps_the_answers_of_its_subtasks(written: bool) -> None:
    """Whether it failed before the cut, or in writing the manifest."""
    statistics = CheckpointStatistics()
    statistics.triggered(4, False, 1_000)
    if written:
        statistics.answered(MANIFEST, 7.2)
    statistics.report(CheckpointReport(4, CheckpointStatus.FAILED, False, 1_000, failure="no room"))
    job = replace(view(1, 4), checkpoints=statistics.view)
    (row,) = checkpoints(job, 10).history
    details = checkpoint_details(job, 4)
    answered = 4 if written else 0
    assert subtasks_of(row) == subtasks_of(details) == (answered, 4)
    assert sum(task.num_acknowledged_subtasks for task in details.tasks.values()) == answered
    assert (row.latest_ack_timestamp, row.status) == (1_007 if written else -1, "FAILED")


@pytest.mark.row("S-CKPT-13")
def test_the_cut_of_a_checkpoint_is_timed_apart_from_writing_it() -> None:
    report = CheckpointReport(
        4, CheckpointStatus.COMPLETED, False, 1_000, snapshot_ms=7.2, write_ms=40.9, commit_ms=3.0
    )
    job = replace(view(1, 4), checkpoints=CheckpointsView(history=(report,), latest_completed=report))
    details = task_details(job, 4, job.vertices[0])
    (first, _) = details.subtasks
    assert (first.checkpoint.sync, first.checkpoint.asynchronous) == (7, 0)
    assert first.end_to_end_duration == 7
    assert details.summary is not None
    assert details.summary.checkpoint_duration.sync.max == 7
    values = {measure.name: measure.value for measure in job_values(job, 5_000)}
    assert values["lastCheckpointSyncDuration"] == 7
    assert values["lastCheckpointWriteDuration"] == 40
    assert values["lastCheckpointDuration"] == 51


def test_logs_of_the_driver_as_text(jobs: Jobs) -> None:
    listed = jobs.get("/jobmanager/logs")["logs"]
    assert [log["name"] for log in listed] == ["firesteel.log"]
    answer = jobs.client.get("/jobmanager/logs/firesteel.log")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "no such order" in answer.text, "why the job failed"
    assert jobs.client.get("/jobmanager/log").text == answer.text
    assert jobs.client.get("/jobmanager/log?tail=20").text == answer.text[-20:]
    assert jobs.client.get("/jobmanager/stdout").status_code == 404


def test_a_log_that_is_a_file_is_sent_as_it_was_when_it_was_asked_for(tmp_path: Path) -> None:
    """It may grow meanwhile; more bytes than were announced would break the connection."""
    from firesteel.rest.app import _chunks

    file = tmp_path / "spark.log"
    file.write_text("a" * 100_000)
    chunks = _chunks(file, 99_990, 100_000)
    with file.open("a") as more:
        more.write("b" * 10)
    assert b"".join(chunks) == b"a" * 10
