// Checkpoints and savepoints: what there is to go on from, what each cost, which vertex has how much.
import { ago, bytes, chain, count, duration, exact, time, NONE } from "../format.js";
import { html, useState } from "../html.js";
import { useGet } from "../live.js";
import { Alert, Bones, Card, Command, Copy, Figure, Figures, Loaded, Nothing, Pairs, State, Table } from "../parts.js";
import { words } from "../actions.js";

export function Checkpoints({ id, data }) {
  const found = useGet(`jobs/${id}/checkpoints`);
  const config = useGet(`jobs/${id}/checkpoints/config`, 0);
  const [open, setOpen] = useState(null);
  return html`<${Loaded} of=${found} lines=${8}>${(all) => html`<div class="stack">
    <${Summary} all=${all} now=${data.job.ended_ms ?? data.now} config=${config.data} />
    ${all.latest.restored && html`<${Alert}>This run went on from ${all.latest.restored.is_savepoint ? "savepoint" : "checkpoint"} ${all.latest.restored.id} at ${time(all.latest.restored.restore_timestamp)}. <code>${all.latest.restored.external_path}</code><//>`}
    ${all.history.length ? html`<${Bars} history=${all.history} open=${open} onPick=${setOpen} />` : null}
    <${Card} title="History" flush>${all.history.length ? html`<${History} id=${id} rows=${all.history} names=${new Map(data.vertices.map((v) => [v.id, chain(v.name)]))} open=${open} setOpen=${setOpen} />`
      : html`<${Nothing} title="No checkpoint has been taken"><p>${config.data && config.data.interval > 2 ** 52 ? html`Checkpoints are off: set <code>execution.checkpointing.interval</code>. After a failure the job begins anew.` : "The first one comes after the interval."}</p><//>`}<//>
    <${Restart} latest=${all.latest} />
    ${config.data && html`<${Settings} config=${config.data} />`}
  </div>`}<//>`;
}

function Summary({ all, now }) {
  const { counts, summary, latest } = all;
  const done = counts.completed > 0;
  const newest = latest.completed;
  return html`<${Figures} label="Checkpoints">
    <${Figure} name="Newest" value=${newest ? ago(newest.latest_ack_timestamp, now) : NONE} note=${newest ? `checkpoint ${newest.id}` : "none yet"} title=${newest ? exact(newest.latest_ack_timestamp) : ""} lead />
    <${Figure} name="Completed" value=${count(counts.completed)} note=${counts.in_progress ? "one is under way" : `${count(counts.restored)} restored from`} />
    <${Figure} name="Failed" value=${count(counts.failed)} note=${latest.failed ? `the last ${ago(latest.failed.failure_timestamp ?? latest.failed.trigger_timestamp, now)}` : "none"} />
    <${Figure} name="Duration" value=${done ? duration(summary.end_to_end_duration.p50) : NONE} note=${done ? `99 %: ${duration(Number(summary.end_to_end_duration.p99))}` : "median"} />
    <${Figure} name="State" value=${newest ? bytes(newest.state_size) : NONE} note=${done ? `at most ${bytes(summary.state_size.max)}` : ""} />
    <${Figure} name="Written" value=${newest ? bytes(newest.checkpointed_size) : NONE} note=${done ? `${bytes(summary.checkpointed_size.avg)} on average` : ""} />
  <//>`;
}

/** Durations of the history, the newest on the right. */
function Bars({ history, open, onPick }) {
  const rows = [...history].reverse();
  const most = Math.max(1, ...rows.map((row) => row.end_to_end_duration));
  return html`<${Card} title="Durations" side=${html`<span class="soft">at most ${duration(most)}</span>`}>
    <div class="bars">${rows.map((row) => html`<button key=${row.id} type="button" class=${`bar-of ${row.status.toLowerCase()} ${row.is_savepoint ? "savepoint" : ""} ${open === row.id ? "chosen" : ""}`}
      aria-label=${`${row.is_savepoint ? "Savepoint" : "Checkpoint"} ${row.id}: ${row.status.toLowerCase()}, ${duration(row.end_to_end_duration)}`} title=${`${row.id}: ${duration(row.end_to_end_duration)}, ${bytes(row.checkpointed_size)} written`}
      onClick=${() => onPick(open === row.id ? null : row.id)}><i style=${{ height: `${Math.max(4, (row.end_to_end_duration / most) * 100)}%` }} /><span>${row.id}</span></button>`)}</div><//>`;
}

function History({ id, rows, names, open, setOpen }) {
  const pending = rows.some((row) => row.id === open && row.status === "IN_PROGRESS");
  const found = useGet(open === null ? null : `jobs/${id}/checkpoints/details/${open}`, pending ? undefined : 0);
  // The two answers are of two moments: a row says what the vertices below it say.
  const shown = rows.map((row) => (pending && row.id === open ? { ...row, ...found.data } : row));
  const columns = [
    { key: "id", name: "Id", by: (row) => row.id, cell: (row) => html`<button class="linklike" type="button" aria-expanded=${String(open === row.id)} onClick=${() => setOpen(open === row.id ? null : row.id)}>${row.id}</button>` },
    { key: "kind", name: "Kind", by: (row) => row.checkpoint_type, cell: (row) => (row.is_savepoint ? html`<b>Savepoint</b>` : "Checkpoint") },
    { key: "status", name: "Status", by: (row) => row.status, cell: (row) => html`<${State} of=${row.status} />${row.discarded ? html`<span class="sub">removed</span>` : ""}` },
    { key: "at", name: "Triggered", number: true, by: (row) => row.trigger_timestamp, cell: (row) => html`<span title=${exact(row.trigger_timestamp)}>${time(row.trigger_timestamp)}</span>` },
    { key: "duration", name: "Duration", number: true, by: (row) => row.end_to_end_duration, cell: (row) => (row.status === "IN_PROGRESS" ? NONE : duration(row.end_to_end_duration)) },
    { key: "written", name: "Written", number: true, by: (row) => row.checkpointed_size, cell: (row) => bytes(row.checkpointed_size) },
    { key: "state", name: "State", number: true, by: (row) => row.state_size, cell: (row) => bytes(row.state_size) },
    { key: "acks", name: "Subtasks", number: true, class: "wide-only", cell: (row) => `${row.num_acknowledged_subtasks}/${row.num_subtasks}` },
  ];
  const after = (row) => row.id === open && html`<tr key=${`${row.id}+`} class="detail"><td colspan=${columns.length}><${Details} row=${row} found=${found} names=${names} /></td></tr>`;
  return html`<${Table} label="History of checkpoints" columns=${columns} rows=${shown} id=${(row) => row.id} rowClass=${(row) => (row.id === open ? "open" : "")} after=${after} />`;
}

function Details({ row, found, names }) {
  if (row.status === "FAILED") return html`<${Alert} kind="bad"><pre>${row.failure_message ?? "Nobody knows why."}</pre><//>`;
  if (found.error) return html`<p class="soft">${found.error.message}</p>`;
  if (found.data?.status !== row.status) return html`<${Bones} lines=${3} />`;
  const tasks = Object.entries(found.data.tasks);
  const most = Math.max(1, ...tasks.map(([, task]) => task.state_size));
  return html`<div class="stack">
    ${found.data.external_path && html`<div class="row"><span class="soft">Path</span><code>${found.data.external_path}</code><${Copy} text=${found.data.external_path} label="Copy the path" small /></div>`}
    <table class="plain"><thead><tr><th scope="col">Vertex</th><th scope="col" class="n">State</th><th scope="col" class="wide-only"><span class="sr">Share</span></th><th scope="col" class="n">Duration</th><th scope="col" class="n">Subtasks</th></tr></thead>
      <tbody>${tasks.map(([vertex, task]) => html`<tr key=${vertex}><td>${names.get(vertex) ?? vertex}</td><td class="n">${bytes(task.state_size)}</td><td class="wide-only"><span class="meter"><i style=${{ width: `${(task.state_size / most) * 100}%` }} /></span></td><td class="n">${duration(task.end_to_end_duration)}</td><td class="n">${task.num_acknowledged_subtasks}/${task.num_subtasks}</td></tr>`)}</tbody></table>
  </div>`;
}

function Restart({ latest }) {
  const from = [latest.savepoint, latest.completed].filter((found) => found?.external_path && !found.discarded).sort((a, b) => b.id - a.id)[0];
  if (!from || !/^\w+:\/\/|^\//.test(from.external_path)) return null;
  return html`<${Card} title="Begin with it"><p class="soft">Another run of the program goes on from ${from.is_savepoint ? "savepoint" : "checkpoint"} ${from.id} by</p><${Command} text=${words("firesteel", "run", "-s", from.external_path, "program.py")} /><//>`;
}

function Settings({ config }) {
  const on = config.interval < 2 ** 52;
  return html`<${Card} title="How they are taken"><${Pairs} of=${[
    ["Interval", on ? duration(config.interval) : "off"],
    ["Guarantee", config.mode === "exactly_once" ? "exactly once" : "at least once"],
    ["Timeout", duration(config.timeout)],
    ["Pause between two", duration(config.min_pause)],
    ["Failures that are tolerated", count(config.tolerable_failed_checkpoints)],
    ["Kept after the job", config.externalization.enabled ? (config.externalization.delete_on_cancellation ? "when it fails" : "yes") : "no"],
    ["State backend", config.state_backend],
    ["Storage", config.checkpoint_storage],
  ]} /><//>`;
}
