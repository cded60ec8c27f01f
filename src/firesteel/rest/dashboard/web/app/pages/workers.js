// Task managers: the executors of Spark.
import { ago, bytes, count, duration, time, NONE } from "../format.js";
import { html, useEffect } from "../html.js";
import { useGet } from "../live.js";
import { Card, Figure, Figures, Loaded, Nothing, Pairs, Table } from "../parts.js";
import { link } from "../router.js";
import { Logs } from "./logs.js";

const TITLE = "Task managers · Firesteel";

export function Workers() {
  const found = useGet("taskmanagers");
  useEffect(() => {
    document.title = TITLE;
  }, []);
  return html`<div class="stack"><h1>Task managers</h1><${Loaded} of=${found} lines=${4}>${({ taskmanagers }) => (taskmanagers.length ? html`
    <div class="card"><${Table} label="Task managers" columns=${COLUMNS} rows=${taskmanagers} id=${(w) => w.id} /></div>
    <p class="soft">A task manager is an executor of Spark. It has as many slots as it runs tasks at once; a job takes slots of the whole, and Spark may move its subtasks with each epoch.</p>`
    : html`<div class="card"><${Nothing} title="There is no task manager yet"><p>Spark starts its executors with the first job.</p><//></div>`)}<//></div>`;
}

const COLUMNS = [
  { key: "id", name: "Task manager", by: (w) => w.id, cell: (w) => html`<a href=${link("workers", w.id)}>${w.id}</a><span class="sub mono">${w.path}</span>` },
  { key: "slots", name: "Free slots", number: true, by: (w) => w.freeSlots, cell: (w) => `${count(w.freeSlots)} of ${count(w.slotsNumber)}` },
  { key: "tasks", name: "Subtasks", number: true, by: (w) => w.assignedTasks, cell: (w) => count(w.assignedTasks) },
  { key: "cores", name: "Cores", number: true, by: (w) => w.hardware.cpuCores, cell: (w) => count(w.hardware.cpuCores) },
  { key: "heap", name: "Heap", number: true, by: (w) => w.hardware.freeMemory, cell: (w) => bytes(w.hardware.freeMemory) },
  { key: "seen", name: "Heard of", number: true, by: (w) => w.timeSinceLastHeartbeat, cell: (w) => (w.timeSinceLastHeartbeat > 0 ? ago(w.timeSinceLastHeartbeat, Date.now()) : NONE) },
];

export function Worker({ parts: [id] }) {
  const path = `taskmanagers/${encodeURIComponent(id)}`;
  const found = useGet(path);
  useEffect(() => {
    document.title = TITLE;
  }, []);
  const missing = () => html`<div class="card"><${Nothing} title="This task manager is gone"><p><a href=${link("workers")}>All task managers</a></p><//></div>`;
  return html`<nav aria-label="Place" class="crumbs"><a href=${link("workers")}>‹ All task managers</a></nav>
    <div class="stack"><h1>${id}</h1><${Loaded} of=${found} missing=${missing}>${(w) => html`<div class="stack">
    <${Figures} label="The task manager">
      <${Figure} name="Free slots" value=${count(w.freeSlots)} unit=${`of ${count(w.slotsNumber)}`} note=${`${count(w.assignedTasks)} subtasks`} />
      <${Figure} name="Cores" value=${count(w.hardware.cpuCores)} note=${w.hardware.physicalMemory ? `${bytes(w.hardware.physicalMemory)} in the machine` : ""} />
      <${Figure} name="Heap used" value=${w.metrics.heapMax ? bytes(w.metrics.heapUsed) : NONE} note=${w.metrics.heapMax ? `of ${bytes(w.metrics.heapMax)}` : "nobody asks this JVM"} />
      <${Figure} name="Garbage collection" value=${w.metrics.garbageCollectors.length ? duration(w.metrics.garbageCollectors.reduce((all, gc) => all + gc.time, 0)) : NONE} note=${`${count(w.metrics.garbageCollectors.reduce((all, gc) => all + gc.count, 0))} times`} />
      <${Figure} name="Heard of" value=${w.timeSinceLastHeartbeat > 0 ? ago(w.timeSinceLastHeartbeat, Date.now()) : NONE} note=${time(w.timeSinceLastHeartbeat)} />
    <//>
    ${w.metrics.heapMax > 0 && html`<${Card} title="Memory of the JVM"><${Memory} metrics=${w.metrics} /><//>`}
    <${Card} title="Slots that are taken" flush><${Table} label="Slots" columns=${SLOTS} rows=${(w.allocatedSlots ?? []).map((slot, n) => ({ ...slot, n }))} id=${(slot) => slot.n} empty=${html`<${Nothing} title="None is taken, or nobody knows whose they are"><p>With several task managers Spark decides with each epoch.</p><//>`} /><//>
    <${Logs} list=${`${path}/logs`} one=${`${path}/logs/`} />
  </div>`}<//></div>`;
}

const SLOTS = [
  { key: "job", name: "Job", cell: (slot) => html`<a class="mono" href=${link("job", slot.jobId)}>${slot.jobId}</a>` },
  { key: "tasks", name: "Subtasks", number: true, cell: (slot) => count(slot.assignedTasks) },
  { key: "cores", name: "Cores", number: true, cell: (slot) => slot.resource.cpuCores.toFixed(1) },
];

function Memory({ metrics }) {
  const rows = [["Heap", metrics.heapUsed, metrics.heapMax], ["Outside the heap", metrics.nonHeapUsed, metrics.nonHeapMax > 0 ? metrics.nonHeapMax : metrics.nonHeapCommitted], ["Direct buffers", metrics.directUsed, metrics.directMax], ["Mapped files", metrics.mappedUsed, metrics.mappedMax]];
  return html`<${Pairs} of=${rows.filter(([, used]) => used > 0).map(([name, used, most]) => [name, html`<span class="row"><span class="meter wide"><i style=${{ width: `${Math.min(100, (used / Math.max(1, most)) * 100)}%` }} /></span>${bytes(used)} of ${bytes(most)}</span>`])} />`;
}
