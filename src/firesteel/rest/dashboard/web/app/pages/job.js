// One job: how it is doing, what can be done with it, and its pages.
import { ago, bytes, chain, count, duration, exact, freshness, short, time, NONE } from "../format.js";
import { html, useEffect } from "../html.js";
import { useEvents, useGet } from "../live.js";
import { Alert, Copy, Figure, Figures, Health, Loaded, Nothing, State, Tabs } from "../parts.js";
import { link } from "../router.js";
import { Actions } from "../actions.js";
import { Accumulators } from "./accumulators.js";
import { Checkpoints } from "./checkpoints.js";
import { Config } from "./config.js";
import { Epochs } from "./epochs.js";
import { Exceptions } from "./exceptions.js";
import { Graph } from "./graph.js";
import { JobLogs } from "./logs.js";
import { Metrics } from "./metrics.js";
import { Sql } from "./sql.js";
import { Timeline } from "./timeline.js";

const TABS = [
  ["graph", "Graph", Graph],
  ["sql", "SQL", Sql],
  ["epochs", "Epochs", Epochs],
  ["timeline", "Timeline", Timeline],
  ["checkpoints", "Checkpoints", Checkpoints],
  ["exceptions", "Exceptions", Exceptions],
  ["metrics", "Metrics", Metrics],
  ["accumulators", "Accumulators", Accumulators],
  ["logs", "Logs", JobLogs],
  ["config", "Configuration", Config],
];
const ALIASES = { overview: "graph", configuration: "config" };

export function Job({ parts, config, session }) {
  const [id, asked = "graph", ...rest] = parts;
  const tab = ALIASES[asked] ?? asked;
  const live = useGet(`firesteel/v1/jobs/${encodeURIComponent(id)}`);
  const known = Boolean(live.data);
  const events = useEvents(known ? id : null, () => live.refresh());
  const name = live.data?.job.name;
  useEffect(() => {
    document.title = `${name ?? "Job"} · Firesteel`;
  }, [name]);
  const missing = () => html`<div class="card"><${Nothing} title="This job is not known"><p>Ended jobs are forgotten after a while (<code>jobstore.expiration-time</code>).</p><p><a href=${link("jobs")}>All jobs</a></p><//></div>`;
  return html`<${Loaded} of=${live} lines=${10} missing=${missing}>${(data) => {
    const Page = TABS.find(([key]) => key === tab)?.[2];
    const shown = TABS.filter(([key]) => key !== "sql" || data.statements > 0 || tab === "sql");
    const failures = events.filter((event) => event.kind === "ExceptionRaised").length;
    return html`
      <${Head} data=${data} config=${config} session=${session} refresh=${live.refresh} />
      <${Tabs} label="Pages of the job" current=${tab} tabs=${shown.map(([key, title]) => [key, title, link("job", id, key), key === "exceptions" ? failures : 0, "bad"])} />
      ${Page ? html`<${Page} key=${id} id=${id} data=${data} events=${events} rest=${rest} session=${session} />` : html`<div class="card"><${Nothing} title="There is no such page" /></div>`}`;
  }}<//>`;
}

function Head({ data, config, session, refresh }) {
  const { job, now } = data;
  const over = job.ended_ms != null;
  const fresh = freshness(job.event_time_ended, job.freshness_ms, job.watermark_ms);
  return html`<div class="stack">
    <div class="row spread head">
      <div>
        <nav aria-label="Place" class="crumbs"><a href=${link("jobs")}>‹ All jobs</a></nav>
        <div class="row"><h1>${job.name}</h1><${Health} of=${job.health} pill /></div>
        <div class="row soft idline"><span>${over ? word(job) : html`<${State} of=${job.state} />`}</span>${job.job_type === "BATCH" && html`<span class="tag">batch</span>`}
          <span class="nowrap"><span class="mono">${job.jid}</span><${Copy} text=${job.jid} label="Copy the id of the job" small /></span></div>
      </div>
      <${Actions} data=${data} config=${config} session=${session} refresh=${refresh} />
    </div>
    ${job.why && html`<${Alert} kind=${["failed", "stalled"].includes(job.health) ? "bad" : "warn"}>${job.why}${["failed", "restarting", "unstable"].includes(job.health) && html` <a href=${link("job", job.jid, "exceptions")}>What happened</a>`}<//>`}
    ${data.bottleneck && html`<${Alert} kind="warn">The bottleneck is <b>${chain(data.bottleneck.name)}</b>: ${data.bottleneck.why} <a href=${link("job", job.jid, "graph", data.bottleneck.vertex)}>Show it</a><//>`}
    <${Figures} label="How the job is doing">
      <${Figure} lead=${!over} name=${over ? "Event time" : "Freshness"} value=${over ? (job.event_time_ended ? "complete" : time(job.watermark_ms)) : fresh.text} note=${over ? (job.watermark_ms || job.event_time_ended ? "when it ended" : "no watermarks") : fresh.note} title="How long ago the event time was that the results are complete up to" />
      <${Figure} name="Waiting records" value=${short(job.lag)} note=${job.lag == null ? "sources do not know" : job.catch_up_ms ? `${duration(job.catch_up_ms)} to catch up` : "all are read"} />
      <${Figure} name="Throughput" value=${over ? short((job.records_read * 1000) / Math.max(1, job.duration_ms)) : short(job.records_per_second)} unit="records/s" note=${`${short(job.records_read)} read in all`} />
      <${Figure} name="Epoch" value=${count(job.epoch)} note=${job.epoch_ms == null ? "none yet" : `the last took ${duration(job.epoch_ms)}`} title=${exact(job.epoch_ended_ms)} />
      <${Figure} name="Checkpoint" value=${job.checkpoint_ended_ms == null ? NONE : ago(job.checkpoint_ended_ms, job.ended_ms ?? now)} note=${job.checkpoint_failures ? `${count(job.checkpoint_failures)} failed` : job.state_bytes == null ? "none yet" : `${bytes(job.state_bytes)} of state`} title=${exact(job.checkpoint_ended_ms)} />
      <${Figure} name=${over ? "Ran for" : "Running for"} value=${duration(job.duration_ms)} note=${job.restarts ? `${count(job.restarts)} restart${job.restarts === 1 ? "" : "s"}` : `since ${time(job.started_ms)}`} title=${exact(job.started_ms)} />
    <//>
  </div>`;
}

const word = (job) => `ended ${time(job.ended_ms)}`;
