// What a job did over time, which the server has kept; and any metric of any vertex, from now on.
import { get } from "../api.js";
import { Chart } from "../charts.js";
import { bytes, chain, duration, short, NONE } from "../format.js";
import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { useGet, useLive } from "../live.js";
import { Card, Loaded, Nothing, Search, Segments } from "../parts.js";

const PER_SECOND = (value) => (value == null ? NONE : short(value));
const CHARTS = [
  ["records_per_second", "Records read per second", PER_SECOND],
  ["lag", "Waiting records", (value) => short(value)],
  ["freshness_ms", "Behind event time", (value) => duration(value)],
  ["epoch_ms", "Length of epochs", (value) => duration(value)],
  ["state_bytes", "State", (value) => bytes(value)],
  ["checkpoint_ms", "Length of checkpoints", (value) => duration(value)],
  ["restarts", "Restarts", (value) => short(value)],
];
const VERTEX_CHARTS = [
  ["in_per_second", "Records in per second, by vertex", PER_SECOND],
  ["out_per_second", "Records out per second, by vertex", PER_SECOND],
  ["freshness_ms", "Behind event time, by vertex", (value) => duration(value)],
  ["state_bytes", "State, by vertex", (value) => bytes(value)],
];
const RANGES = [["fine", "30 minutes"], ["minutes", "24 hours"]];
const DRAWN = 8; // vertices

export function Metrics({ id, data }) {
  const [range, setRange] = useState("fine");
  const found = useGet(`firesteel/v1/jobs/${id}/charts`, 5000);
  return html`<${Loaded} of=${found} lines=${8}>${(charts) => {
    const chart = charts[range];
    const times = chart.values[0];
    return html`<div class="stack">
      <div class="row spread"><p class="soft bare">Kept by the server, so it begins before this page did. Drag to look closer; a double click shows all.</p><${Segments} label="Range" options=${RANGES} value=${range} onPick=${setRange} /></div>
      ${times.length < 2 ? html`<div class="card"><${Nothing} title="Too early to draw"><p>A sample is taken every five seconds.</p><//></div>` : html`<div class="charts">
        ${CHARTS.map(([key, name, shown]) => {
          const values = chart.values[chart.columns.indexOf(key)];
          if (!values.some((value) => value != null)) return null;
          if (key === "restarts" && !values.some(Boolean)) return null;
          return html`<div key=${key} class="card"><${Chart} title=${name} times=${times} lines=${[{ name, values, shown }]} sizes=${key === "state_bytes"} /></div>`;
        })}
        ${range === "fine" && data.vertices.length > 1 && VERTEX_CHARTS.map(([key, name, shown]) => html`<${Vertices} key=${`v-${key}`} of=${key} name=${name} shown=${shown} vertices=${charts.vertices.slice(0, DRAWN)} />`)}
      </div>`}
      <${Any} id=${id} vertices=${data.vertices} over=${data.job.ended_ms != null} />
    </div>`;
  }}<//>`;
}

function Vertices({ of, name, shown, vertices }) {
  const longest = vertices.reduce((best, v) => (v.chart.values[0].length > best.length ? v.chart.values[0] : best), []);
  const lines = vertices.map((v) => ({ name: cut(v.name), shown, values: v.chart.values[v.chart.columns.indexOf(of)] })).filter((line) => line.values.length === longest.length && line.values.some((value) => value != null));
  return lines.length ? html`<div class="card"><${Chart} title=${name} times=${longest} lines=${lines} sizes=${of === "state_bytes"} /></div>` : null;
}

const cut = (name) => (name.length > 34 ? `${chain(name).slice(0, 33)}…` : chain(name));

// ---- any metric

function Any({ id, vertices, over }) {
  const [vertex, setVertex] = useState(vertices[0]?.id ?? "");
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState([]);
  const names = useGet(vertex ? `jobs/${id}/vertices/${vertex}/subtasks/metrics` : null, 0);
  const found = useMemo(() => (names.data ?? []).map((metric) => metric.id).filter((name) => name.toLowerCase().includes(words.toLowerCase())).sort(), [names.data, words]);
  if (!vertices.length) return null;
  return html`<${Card} title="Any metric of a vertex">
    <div class="stack">
      <div class="row">
        <select aria-label="Vertex" value=${vertex} onChange=${(e) => { setVertex(e.currentTarget.value); setChosen([]); }}>${vertices.map((v) => html`<option key=${v.id} value=${v.id}>${cut(v.name)}</option>`)}</select>
        <${Search} label="Search metrics" placeholder="Name of a metric" value=${words} onInput=${setWords} />
      </div>
      <div class="metric-names" role="group" aria-label="Metrics">${found.slice(0, 60).map((name) => html`
        <button key=${name} class="chip mono" type="button" aria-pressed=${String(chosen.includes(name))} onClick=${() => setChosen(chosen.includes(name) ? chosen.filter((n) => n !== name) : [...chosen.slice(-5), name])}>${name}</button>`)}
        ${found.length > 60 && html`<span class="soft">and ${found.length - 60} more: search for them</span>`}
        ${names.data && !found.length && html`<span class="soft">No metric has such a name.</span>`}</div>
      ${chosen.length > 0 && html`<div class="charts">${chosen.map((name) => html`<${Follow} key=${`${vertex} ${name}`} id=${id} vertex=${vertex} name=${name} over=${over} />`)}</div>`}
    </div><//>`;
}

/** One metric over all subtasks from now on: least, average, greatest. */
function Follow({ id, vertex, name, over }) {
  const kept = useRef({ times: [], min: [], avg: [], max: [] });
  const path = `jobs/${id}/vertices/${vertex}/subtasks/metrics?get=${encodeURIComponent(name)}`;
  const { data, at } = useLive((signal) => get(path, signal), [path], over ? 0 : 3000);
  useEffect(() => {
    const [found] = data ?? [];
    if (!found) return;
    const all = kept.current;
    if (all.times.at(-1) === at) return;
    all.times.push(at);
    for (const key of ["min", "avg", "max"]) all[key].push(typeof found[key] === "number" ? found[key] : null);
    if (all.times.length > 600) for (const values of Object.values(all)) values.shift();
  }, [at]);
  const { times, min, avg, max } = kept.current;
  const shown = (value) => (value == null ? NONE : short(value));
  if (data && !data.length) return html`<div class="card"><${Nothing} title=${name}><p>It has no value now.</p><//></div>`;
  if (times.length < 2) return html`<div class="card"><${Nothing} title=${name}><p>${data?.[0] ? `${shown(data[0].sum)} over all subtasks; a line needs two samples.` : "Reading ..."}</p><//></div>`;
  return html`<div class="card"><${Chart} title=${name} times=${[...times]} lines=${[{ name: "greatest", values: [...max], shown }, { name: "average", values: [...avg], shown }, { name: "least", values: [...min], shown }]} /></div>`;
}
