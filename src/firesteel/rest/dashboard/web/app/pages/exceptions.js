// Why a job failed: the user's own traceback first, then where in the job it was.
import { count, exact, time } from "../format.js";
import { html, useState } from "../html.js";
import { useGet } from "../live.js";
import { Card, Copy, Loaded, Nothing, Pairs } from "../parts.js";
import { link } from "../router.js";

export function Exceptions({ id, data }) {
  const found = useGet(`firesteel/v1/jobs/${id}/failures`);
  return html`<${Loaded} of=${found} lines=${6}>${({ failures, dropped }) => {
    if (!failures.length) return html`<div class="card"><${Nothing} title="Nothing has failed"><p>What users' code raises is shown here with its traceback, and where in the job it was.</p><//></div>`;
    return html`<div class="stack">
      ${grouped(failures).map((group) => html`<${Failure} key=${group[0].time_ms} id=${id} group=${group} vertices=${data.vertices} />`)}
      ${dropped > 0 && html`<p class="soft">${count(dropped)} older failures are gone.</p>`}
    </div>`;
  }}<//>`;
}

/** One entry for one cause: failures that say the same at the same place. */
function grouped(failures) {
  const groups = new Map();
  for (const failure of failures) {
    const key = `${failure.name}|${failure.message}|${failure.operator}|${failure.traceback}`;
    (groups.get(key) ?? groups.set(key, []).get(key)).push(failure);
  }
  return [...groups.values()];
}

function Failure({ id, group, vertices }) {
  const [newest] = group;
  const [whole, setWhole] = useState(false);
  const { own, frames, last } = split(newest.traceback);
  const parallelism = vertices.find((v) => v.id === newest.vertex)?.parallelism;
  const place = newest.operator ?? newest.task;
  return html`<${Card} label=${newest.name} title=${html`<span class="cause">${last || newest.message}</span>`} side=${html`<span class="soft" title=${exact(newest.time_ms)}>${time(newest.time_ms)}</span>${group.length > 1 && html`<span class="tag">${count(group.length)} times</span>`}`}>
    <div class="stack">
      ${place && html`<p class="soft bare">In <b>${place}</b>${newest.subtask != null ? `, subtask ${newest.subtask}${parallelism ? ` of ${parallelism}` : ""}` : ""}${newest.vertex && html` · <a href=${link("job", id, "graph", newest.vertex)}>show the vertex</a>`}</p>`}
      <div class="trace">
        <div class="row spread"><h3>${whole ? "Whole traceback" : "Your code"}</h3><div class="row">
          ${frames.length > own.length && own.length > 0 && html`<button class="button small" type="button" aria-pressed=${String(whole)} onClick=${() => setWhole(!whole)}>${whole ? "Your code alone" : `All ${frames.length} frames`}</button>`}
          <${Copy} text=${newest.traceback} label="Copy the traceback" small /></div></div>
        ${whole || !own.length ? html`<pre tabindex="0">${newest.traceback}</pre>` : html`<ol>${own.map((frame, n) => html`<li key=${n}><span class="mono">${frame.place}</span>${frame.code && html`<pre>${frame.code}</pre>`}</li>`)}</ol>`}
      </div>
      <details><summary>More about it</summary><${Pairs} of=${[
        ["Operator", newest.operator], ["uid", newest.uid && html`<code>${newest.uid}</code>`], ["Vertex", newest.task], ["Subtask", newest.subtask == null ? null : String(newest.subtask)],
        ["Attempt of the job", String(newest.attempt)], ["First seen", time(group[group.length - 1].time_ms)], ["Message", newest.message],
      ]} /></details>
    </div><//>`;
}

// Where packages are, and not any directory of that name: a user's own may be called firesteel, too.
const OF_OTHERS = new RegExp([
  String.raw`[/\\](?:site-packages|dist-packages|src|[^/\\]+\.(?:zip|egg|whl))[/\\](?:firesteel|pyspark|cloudpickle)[/\\]`,
  String.raw`[/\\]python[/\\]pyspark[/\\]`,
  String.raw`[/\\]lib[/\\]python[\d.]+[/\\](?!site-packages)`,
  "<frozen ",
].join("|"));

/** The frames of a Python traceback; `own`: those that are not of Firesteel, Spark or Python itself. */
export function split(traceback) {
  const lines = traceback.trimEnd().split("\n");
  const frames = [];
  let last = [];
  for (const line of lines) {
    if (/^ {2}File "/.test(line)) {
      frames.push({ place: line.trim(), code: "" });
      last = [];
    } else if (/^ {4}/.test(line) && frames.length && !last.length) {
      if (!/^\s*[\^~]+\s*$/.test(line)) frames[frames.length - 1].code += `${frames[frames.length - 1].code ? "\n" : ""}${line.trim()}`;
    } else if (!/^Traceback \(most recent/.test(line)) {
      last.push(line);
    }
  }
  const own = frames.filter(({ place }) => !OF_OTHERS.test(place));
  return { frames, own, last: last.join("\n").trim() };
}
