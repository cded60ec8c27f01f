// One vertex: its subtasks with what each got, its operators, what its workers are doing.
import { bytes, chain, count, duration, rate, short, sum, time, NONE } from "../format.js";
import { html, useMemo, useState } from "../html.js";
import { useGet } from "../live.js";
import { Card, Icon, Loaded, Pairs, Segments, State, Table } from "../parts.js";
import { go, link } from "../router.js";
import { Flames } from "./flames.js";
import { Skew } from "./graph.js";

const PAGES = [["subtasks", "Subtasks"], ["operators", "Operators"], ["flames", "Flame graph"]];
const FIGURES = [
  ["records_in", "Records in", (s) => s.records_in, short],
  ["records_out", "Records out", (s) => s.records_out, short],
  ["state_bytes", "State", (s) => s.state_bytes, bytes],
  ["bytes_in", "Bytes in", (s) => s.bytes_in, bytes],
];

export function Vertex({ id, vertex, job, now, page }) {
  return html`<${Card} title=${chain(vertex.name)} label=${`Vertex ${vertex.name}`} side=${html`
      <${Segments} label="Pages of the vertex" options=${PAGES} value=${page} onPick=${(key) => go("job", id, "graph", vertex.id, key)} />
      <a class="button small icon" href=${link("job", id, "graph")} aria-label="Close the vertex" title="Close"><${Icon} name="close" /></a>`}>
    ${page === "operators" ? html`<${Operators} vertex=${vertex} />` : page === "flames" ? html`<${Flames} id=${id} vertex=${vertex} over=${job.ended_ms != null} />` : html`<${Subtasks} id=${id} vertex=${vertex} now=${now} />`}
  <//>`;
}

function Subtasks({ id, vertex, now }) {
  const found = useGet(`firesteel/v1/jobs/${id}/vertices/${vertex.id}/subtasks`);
  const [figure, setFigure] = useState("records_in");
  return html`<${Loaded} of=${found} lines=${6}>${({ subtasks, lag }) => {
    const [, name, of, shown] = FIGURES.find(([key]) => key === figure);
    return html`<div class="stack">
      <div class="row spread"><${Segments} label="Figure" options=${FIGURES.filter(([key]) => key !== "state_bytes" || vertex.state_bytes != null).map(([key, title]) => [key, title])} value=${figure} onPick=${setFigure} />
        <span class="soft">Skew of records in: <${Skew} of=${vertex.skew} /></span></div>
      <${Strip} subtasks=${subtasks} name=${name} of=${of} shown=${shown} />
      <${SubtaskTable} subtasks=${subtasks} now=${now} />
      <${Splits} lag=${lag} />
    </div>`;
  }}<//>`;
}

/** One bar for each subtask, in order: who got more than the others is seen at once. */
function Strip({ subtasks, name, of, shown }) {
  const values = subtasks.map((s) => of(s) ?? 0);
  const most = Math.max(1, ...values);
  const average = sum(values) / values.length;
  const width = 1000;
  const step = width / values.length;
  const gap = values.length > 250 ? 0 : Math.min(4, step * 0.2);
  const bars = useMemo(() => {
    const draw = (above) => values.map((value, n) => (value > average * 1.5 && values.length > 1) === above ? `M${(n * step + gap / 2).toFixed(2)} 100h${(step - gap).toFixed(2)}v${(-Math.max(0.6, (value / most) * 96)).toFixed(2)}h${(gap - step).toFixed(2)}z` : "").join("");
    return [draw(false), draw(true)];
  }, [values.join()]);
  const max = values.indexOf(Math.max(...values));
  const min = values.indexOf(Math.min(...values));
  const label = `${name} of ${subtasks.length} subtasks: from ${shown(values[min])} to ${shown(values[max])}, ${shown(average)} on average`;
  return html`<figure class="strip">
    <svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label=${label}>
      <path class="bars" d=${bars[0]} /><path class="bars above" d=${bars[1]} />
      <line x1="0" x2="1000" y1=${100 - (average / most) * 96} y2=${100 - (average / most) * 96} vector-effect="non-scaling-stroke" /></svg>
    <figcaption class="row spread soft"><span>subtask 0</span><span>least ${shown(values[min])} (${min}) · average ${shown(average)} · most <b>${shown(values[max])}</b> (${max})</span><span>${subtasks.length > 1 ? `subtask ${subtasks.length - 1}` : ""}</span></figcaption>
  </figure>`;
}

function SubtaskTable({ subtasks, now }) {
  const columns = [
    { key: "index", name: "Subtask", by: (s) => s.index, cell: (s) => html`${s.index}${s.attempt > 0 && html`<span class="sub">attempt ${s.attempt}</span>`}` },
    { key: "state", name: "State", by: (s) => s.state, cell: (s) => html`<${State} of=${s.state} />${s.failure && html`<span class="sub why" title=${s.failure}>${s.failure}</span>`}` },
    { key: "in", name: "Records in", number: true, by: (s) => s.records_in, cell: (s) => html`${short(s.records_in)}<span class="sub">${rate(s.in_per_second)}</span>` },
    { key: "out", name: "Records out", number: true, by: (s) => s.records_out, cell: (s) => html`${short(s.records_out)}<span class="sub">${rate(s.out_per_second)}</span>` },
    { key: "bytes_in", name: "Bytes in", number: true, by: (s) => s.bytes_in, cell: (s) => bytes(s.bytes_in) },
    { key: "watermark", name: "Behind event time", number: true, by: (s) => s.watermark_ms, cell: (s) => (s.event_time_ended ? "complete" : s.watermark_ms == null ? NONE : duration(now - s.watermark_ms)) },
    { key: "state_bytes", name: "State", number: true, by: (s) => s.state_bytes, cell: (s) => bytes(s.state_bytes) },
    { key: "since", name: "In it since", number: true, by: (s) => s.entered[s.state], cell: (s) => time(s.entered[s.state]) },
  ];
  return html`<div class="inset"><${Table} label="Subtasks" columns=${columns} rows=${subtasks} id=${(s) => s.index} most=${50} /></div>`;
}

function Splits({ lag }) {
  const rows = Object.entries(lag);
  if (!rows.length) return null;
  const columns = [
    { key: "split", name: "Split", by: (row) => row[0], cell: (row) => html`<span class="mono">${row[0]}</span>` },
    { key: "lag", name: "Waiting records", number: true, by: (row) => row[1], cell: (row) => count(row[1]) },
  ];
  return html`<h3>Splits of its sources</h3><div class="inset"><${Table} label="Splits" columns=${columns} rows=${rows} id=${(row) => row[0]} most=${20} sort=${{ key: "lag", down: true }} /></div>`;
}

function Operators({ vertex }) {
  const depth = new Map();
  for (const operator of vertex.operators) depth.set(operator.id, operator.input == null ? 0 : (depth.get(operator.input) ?? 0) + 1);
  const columns = [
    { key: "name", name: "Operator", cell: (o) => html`<span style=${{ paddingLeft: `${depth.get(o.id) * 18}px` }}>${depth.get(o.id) ? html`<span class="faint" aria-hidden="true">└ </span>` : ""}${o.name}</span>${o.description !== o.name && html`<span class="sub" style=${{ paddingLeft: `${depth.get(o.id) * 18}px` }}>${o.description}</span>`}` },
    { key: "uid", name: "uid", cell: (o) => (o.uid ? html`<code>${o.uid}</code>` : html`<span class="faint" title="the program gives it none: state is found by its place in the graph">none</span>`) },
    { key: "in", name: "Records in", number: true, cell: (o) => count(o.records_in) },
    { key: "out", name: "Records out", number: true, cell: (o) => count(o.records_out) },
    { key: "kept", name: "Out for each in", number: true, cell: (o) => (o.records_in ? (o.records_out / o.records_in).toFixed(2) : NONE) },
  ];
  return html`<div class="stack"><div class="inset"><${Table} label="Operators of the chain" columns=${columns} rows=${vertex.operators} id=${(o) => o.id} /></div>
    <${Pairs} of=${[["Id", html`<code>${vertex.id}</code>`], ["Level", `${vertex.level}: the vertices of a level run in one stage of an epoch`], ["Parallelism", `${vertex.parallelism}, at most ${vertex.max_parallelism}`]]} /></div>`;
}
