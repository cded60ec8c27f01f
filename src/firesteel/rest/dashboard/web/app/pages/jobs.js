// All jobs: how each is doing, how fresh its results are, how far it is behind.
import { bytes, count, duration, freshness, plural, short, sum, time, ago, NONE } from "../format.js";
import { html, useEffect, useMemo, useState } from "../html.js";
import { useGet } from "../live.js";
import { Bones, Chips, Figure, Figures, Health, Loaded, Nothing, Search, Table, healthWord } from "../parts.js";
import { link } from "../router.js";
import { Spark } from "../spark.js";

const NEEDS = ["failed", "restarting", "stalled", "behind", "unstable"];
const OVER = ["finished", "canceled"];
const GROUPS = [
  ["all", "All", () => true],
  ["needs", "Needs a look", (job) => NEEDS.includes(job.health)],
  ["running", "Running", (job) => job.ended_ms == null],
  ["finished", "Finished", (job) => job.state === "FINISHED"],
  ["canceled", "Cancelled", (job) => job.state === "CANCELED"],
  ["failed", "Failed", (job) => job.state === "FAILED"],
];

export function Jobs({ config }) {
  const jobs = useGet("firesteel/v1/jobs");
  const cluster = useGet("overview");
  const [group, setGroup] = useState("all");
  const [words, setWords] = useState("");
  useEffect(() => {
    document.title = "Jobs · Firesteel";
  }, []);
  return html`<h1 class="sr">Jobs</h1><div class="stack">
    <${Overview} cluster=${cluster.data} jobs=${jobs.data?.jobs} />
    <${Loaded} of=${jobs} lines=${8}>${({ jobs: all, now }) => html`
      <${List} all=${all} now=${now} group=${group} setGroup=${setGroup} words=${words} setWords=${setWords} submits=${config.features["web-submit"]} />`}<//>
  </div>`;
}

function Overview({ cluster, jobs }) {
  if (!cluster || !jobs) return html`<div class="card"><${Bones} lines=${2} /></div>`;
  const live = jobs.filter((job) => job.ended_ms == null);
  const stale = live.filter((job) => job.freshness_ms != null).sort((a, b) => b.freshness_ms - a.freshness_ms)[0];
  const lags = live.filter((job) => job.lag != null);
  const rates = live.filter((job) => job.records_per_second != null);
  return html`<${Figures} label="The cluster">
    <${Figure} name="Running" value=${count(cluster["jobs-running"])} note=${attention(jobs)} />
    <${Figure} name="Least fresh" value=${stale ? duration(stale.freshness_ms) : NONE} note=${stale ? stale.name : "no event time"} title=${stale?.name} />
    <${Figure} name="Waiting records" value=${lags.length ? short(sum(lags.map((job) => job.lag))) : NONE} note=${lags.length ? `in the sources of ${plural(lags.length, "job")}` : "no source knows"} />
    <${Figure} name="Throughput" value=${rates.length ? short(sum(rates.map((job) => job.records_per_second))) : NONE} unit=${rates.length ? "records/s" : ""} note="read by sources, last minute" />
    <${Figure} name="Ended" value=${count(cluster["jobs-finished"] + cluster["jobs-cancelled"] + cluster["jobs-failed"])} note=${`${count(cluster["jobs-finished"])} finished, ${count(cluster["jobs-failed"])} failed`} />
    <${Figure} name="Free slots" value=${count(cluster["slots-available"])} unit=${`of ${count(cluster["slots-total"])}`} note=${plural(cluster.taskmanagers, "task manager")} />
  <//>`;
}

function attention(jobs) {
  const n = jobs.filter((job) => NEEDS.includes(job.health) && job.ended_ms == null).length;
  return n ? `${n === 1 ? "1 needs" : `${count(n)} need`} a look` : "all are well";
}

function List({ all, now, group, setGroup, words, setWords, submits }) {
  const sought = words.trim().toLowerCase();
  const found = useMemo(
    () => all.filter((job) => !sought || `${job.name} ${job.jid} ${job.state} ${healthWord(job.health)}`.toLowerCase().includes(sought)),
    [all, sought],
  );
  const rows = found.filter(GROUPS.find(([key]) => key === group)[2]);
  if (!all.length) {
    return html`<div class="card"><${Nothing} title="No job has run yet">
      <p>${submits ? html`Hand in a program on the page <a href=${link("submit")}>Submit</a>, or from a terminal:` : "A job appears here as soon as the program has started one."}</p>
      ${submits && html`<pre>firesteel run -m ${location.host} program.py</pre>`}<//></div>`;
  }
  return html`
    <div class="row spread">
      <${Chips} label="Which jobs" value=${group} onPick=${setGroup} options=${GROUPS.map(([key, name, is]) => [key, name, found.filter(is).length]).filter(([key, , n]) => n || key === "all" || key === group)} />
      <${Search} label="Search jobs" placeholder="Name, id or state" value=${words} onInput=${setWords} />
    </div>
    <div class="card jobs">
      <${Table} label="Jobs" rows=${rows} id=${(job) => job.jid} most=${200} columns=${columns(now)} sort=${{ key: "health", down: false }}
        empty=${html`<${Nothing} title="No job is like that"><p><button class="button" type="button" onClick=${() => { setWords(""); setGroup("all"); }}>Show all jobs</button></p><//>`} />
    </div>`;
}

const RANK = [...NEEDS, "starting", "good", ...OVER];

function columns(now) {
  return [
    { key: "name", name: "Job", by: (job) => job.name, cell: (job) => html`<a class="name" href=${link("job", job.jid)}>${job.name}</a><span class="sub mono">${job.jid.slice(0, 8)}${job.job_type === "BATCH" ? html` <span class="tag">batch</span>` : ""}</span>` },
    { key: "health", name: "Health", class: "full", by: (job) => RANK.indexOf(job.health), cell: (job) => html`<${Health} of=${job.health} />${job.why && html`<span class="sub why" title=${job.why}>${job.why}</span>`}` },
    { key: "fresh", name: "Freshness", number: true, by: (job) => (job.ended_ms == null ? job.freshness_ms : null), cell: (job) => fresh(job) },
    { key: "lag", name: "Waiting", number: true, by: (job) => job.lag, cell: (job) => html`${short(job.lag)}${job.catch_up_ms > 0 && html`<span class="sub">${duration(job.catch_up_ms)} to catch up</span>`}` },
    { key: "rate", name: "Records/s", number: true, by: (job) => job.records_per_second, cell: (job) => html`<span class="rate">${job.ended_ms == null && job.recent.length > 1 && html`<${Spark} values=${job.recent} />`}<span>${job.records_per_second == null ? NONE : short(job.records_per_second)}</span></span>` },
    { key: "checkpoint", name: "Checkpoint", number: true, class: "wide-only", by: (job) => job.checkpoint_ended_ms, cell: (job) => html`${job.checkpoint_ended_ms == null ? NONE : ago(job.checkpoint_ended_ms, job.ended_ms ?? now)}${job.state_bytes > 0 && html`<span class="sub">${bytes(job.state_bytes)}</span>`}` },
    { key: "began", name: "Started", number: true, class: "wide-only", by: (job) => job.started_ms, cell: (job) => html`${time(job.started_ms)}<span class="sub">${duration(job.duration_ms)}</span>` },
  ];
}

function fresh(job) {
  const { text, note } = freshness(job.event_time_ended, job.freshness_ms, job.watermark_ms);
  if (job.ended_ms != null) return html`<span class="faint">${NONE}</span>`;
  return html`${text}<span class="sub">${note}</span>`;
}
