// What happened to a job: its vertices over time, and its events in order.
import { ago, chain, count, duration, exact, time } from "../format.js";
import { html, useState } from "../html.js";
import { useGet } from "../live.js";
import { Bones, Card, Chips, Nothing, State, word } from "../parts.js";
import { link } from "../router.js";

export function Timeline({ id, data, events }) {
  return html`<div class="stack"><${Gantt} id=${id} data=${data} /><${Events} id=${id} events=${events} now=${data.job.ended_ms ?? data.now} /></div>`;
}

/** The states of each vertex: when the first of its subtasks entered them, when the last left them. */
function Gantt({ id, data }) {
  const [open, setOpen] = useState(null);
  const begin = data.job.started_ms;
  const end = Math.max(data.job.ended_ms ?? data.now, begin + 1);
  const statuses = Object.entries(data.timestamps).sort((a, b) => a[1] - b[1]);
  const jobBars = statuses.map(([state, from], n) => ({ state, from, to: statuses[n + 1]?.[1] ?? end }));
  return html`<${Card} title="Over time" side=${html`<span class="soft">${time(begin)} to ${data.job.ended_ms ? time(end) : "now"}, ${duration(end - begin)}</span>`}>
    <div class="gantt" role="list">
      <${Row} name="The job" bars=${jobBars} begin=${begin} end=${end} strong />
      ${data.vertices.map((vertex) => html`<${VertexRow} key=${vertex.id} id=${id} vertex=${vertex} begin=${begin} end=${end} open=${open === vertex.id} onOpen=${() => setOpen(open === vertex.id ? null : vertex.id)} />`)}
    </div>
    <p class="legend row soft">${["CREATED", "SCHEDULED", "DEPLOYING", "RUNNING", "FINISHED", "CANCELED", "FAILED"].map((state) => html`<span key=${state}><i class=${`gantt-key s-${state.toLowerCase()}`} /> ${word(state)}</span>`)}</p><//>`;
}

function Row({ name, bars, begin, end, strong, sub }) {
  const x = (ms) => Math.min(100, Math.max(0, ((ms - begin) / (end - begin)) * 100));
  return html`<div class=${`gantt-row ${strong ? "strong" : ""} ${sub ? "sub" : ""}`} role="listitem"><div class="gantt-name">${name}</div><div class="gantt-bars">${bars.map((bar, n) => html`
    <i key=${n} class=${`s-${bar.state.toLowerCase()}`} style=${{ left: `${x(bar.from)}%`, width: `max(2px, ${Math.max(0, x(bar.to) - x(bar.from))}%)` }} title=${`${word(bar.state)}: ${time(bar.from)}, ${duration(Math.max(0, bar.to - bar.from))}`} />`)}
    <span class="sr">${bars.map((bar) => `${word(bar.state)} since ${time(bar.from)}`).join(", ")}</span></div></div>`;
}

function VertexRow({ id, vertex, begin, end, open, onOpen }) {
  const found = useGet(`firesteel/v1/jobs/${id}/vertices/${vertex.id}/subtasks`, open ? undefined : 15000);
  const subtasks = found.data?.subtasks ?? [];
  const name = html`<button class="linklike" type="button" aria-expanded=${String(open)} onClick=${onOpen} title=${chain(vertex.name)}>${chain(vertex.name)}</button>`;
  const states = new Map();
  for (const subtask of subtasks) {
    for (const bar of bars(subtask, end)) {
      const known = states.get(bar.state);
      states.set(bar.state, { state: bar.state, from: Math.min(known?.from ?? bar.from, bar.from), to: Math.max(known?.to ?? bar.to, bar.to) });
    }
  }
  return html`<${Row} name=${name} bars=${[...states.values()].sort((a, b) => a.from - b.from)} begin=${begin} end=${end} />
    ${open && subtasks.slice(0, 64).map((s) => html`<${Row} key=${s.index} sub name=${html`<a href=${link("job", id, "graph", vertex.id)}>${s.index}</a>`} bars=${bars(s, end)} begin=${begin} end=${end} />`)}
    ${open && subtasks.length > 64 && html`<p class="soft">The first 64 of ${count(subtasks.length)} subtasks.</p>`}
    ${open && !found.data && html`<${Bones} lines=${2} />`}`;
}

function bars(subtask, end) {
  const entered = Object.entries(subtask.entered).sort((a, b) => a[1] - b[1]);
  return entered.map(([state, from], n) => ({ state, from, to: entered[n + 1]?.[1] ?? (OVER.has(state) ? from : end) }));
}

const OVER = new Set(["FINISHED", "CANCELED", "FAILED"]);

// ---- events

const GROUPS = {
  all: () => true,
  state: (event) => ["StatusChanged", "AttemptStarted", "RestartPlanned", "CommandReceived"].includes(event.kind),
  failures: (event) => ["ExceptionRaised", "CheckpointFailed", "RestartPlanned"].includes(event.kind),
  checkpoints: (event) => event.kind.startsWith("Checkpoint"),
};

function Events({ id, events, now }) {
  const [group, setGroup] = useState("all");
  const [most, setMost] = useState(60);
  const found = events.filter(GROUPS[group]);
  const entries = compact([...found].reverse());
  const shown = entries.slice(0, most);
  return html`<${Card} title="Events" side=${html`<${Chips} label="Which events" value=${group} onPick=${setGroup} options=${[["all", "All", events.length], ["state", "States"], ["failures", "Failures"], ["checkpoints", "Checkpoints"]]} />`}>
    ${shown.length ? html`<ol class="events">${shown.map((event) => html`<li key=${event.id} class=${KINDS[event.kind]?.(event) ?? ""}>
      <time title=${exact(event.time_ms)}>${time(event.time_ms)}<span class="sub">${ago(event.time_ms, now)}</span></time><div><${Said} id=${id} event=${event} /></div></li>`)}</ol>
      ${entries.length > most && html`<button class="button" type="button" onClick=${() => setMost(most + 200)}>Older events</button>`}` : html`<${Nothing} title="No such event" />`}<//>`;
}

/** Completed checkpoints one after the other are one entry. */
function compact(events) {
  const found = [];
  for (const event of events) {
    const last = found.at(-1);
    if (event.kind === "CheckpointCompleted" && !event.savepoint && last?.kind === "CheckpointCompleted" && !last.savepoint) {
      last.first = event.id;
      last.times = (last.times ?? 1) + 1;
      last.from = event;
    } else {
      found.push({ ...event });
    }
  }
  return found;
}

const KINDS = {
  ExceptionRaised: () => "bad", CheckpointFailed: () => "bad", RestartPlanned: () => "warn", CheckpointCompleted: (e) => (e.savepoint ? "info" : "quiet"),
  StatusChanged: (e) => ({ RUNNING: "good", FINISHED: "good", FAILED: "bad" })[e.status] ?? "", CommandReceived: () => "info",
};

function Said({ id, event }) {
  switch (event.kind) {
    case "StatusChanged": return html`<${State} of=${event.status} />`;
    case "ExceptionRaised": return html`<b>${event.name}</b> <a href=${link("job", id, "exceptions")}>What happened</a><span class="sub">${event.message.split("\n")[0]}</span>`;
    case "RestartPlanned": return html`Restart ${count(event.restarts)}, in ${duration(event.delay_ms)}`;
    case "AttemptStarted": return html`Attempt ${count(event.attempt)} of all subtasks<span class="sub">${event.restored_from ? `goes on from ${event.restored_from}` : "from the beginning"}</span>`;
    case "CheckpointCompleted": return event.times > 1 ? html`${count(event.times)} checkpoints<span class="sub">${event.from.id === event.id ? "" : `the newest took ${duration(event.elapsed_ms)}`}</span>` : html`${event.savepoint ? html`<b>Savepoint</b>` : "Checkpoint"} in ${duration(event.elapsed_ms)}${event.savepoint && event.path && html`<span class="sub mono">${event.path}</span>`}`;
    case "CheckpointFailed": return html`<b>${event.savepoint ? "Savepoint" : "Checkpoint"} failed</b><span class="sub">${event.failure.split("\n")[0]}</span>`;
    case "CommandReceived": return html`Somebody asked for: ${event.command}`;
    default: return event.kind;
  }
}
