// The graph of a job, live, and the vertex that was chosen.
import { bytes, chain, count, duration, freshness, percent, rate, short, NONE } from "../format.js";
import { html, useLayoutEffect, useMemo, useRef, useState } from "../html.js";
import { path, placed } from "../layout.js";
import { Card, Icon, Nothing, State, Table } from "../parts.js";
import { go, link } from "../router.js";
import { Vertex } from "./vertex.js";

const WIDTH = 264;
const OPERATORS = 4; // that a box names
const named = (vertex) => (vertex.operators.length <= OPERATORS ? vertex.operators : vertex.operators.slice(0, OPERATORS - 1));
/** A line for each operator of the chain. */
const heightOf = (vertex) => 96 + 19 * Math.max(1, Math.min(OPERATORS, vertex.operators.length));

export function Graph({ id, data, rest: [chosen, ...rest] }) {
  const { vertices, bottleneck, now, job } = data;
  const vertex = vertices.find((v) => v.id === chosen);
  if (!vertices.length) return html`<div class="card"><${Nothing} title="This job has no vertices"><p>It ended before its graph was made. The page Exceptions says why.</p><//></div>`;
  return html`<div class="stack">
    <${Drawing} vertices=${vertices} chosen=${chosen} bottleneck=${bottleneck?.vertex} now=${job.ended_ms ?? now} onPick=${(v) => go("job", id, "graph", v === chosen ? null : v)} />
    ${vertex ? html`<${Vertex} key=${vertex.id} id=${id} vertex=${vertex} job=${job} now=${job.ended_ms ?? now} page=${rest[0] ?? "subtasks"} />` : html`<${List} id=${id} vertices=${vertices} now=${job.ended_ms ?? now} />`}
  </div>`;
}

function Drawing({ vertices, chosen, bottleneck, now, onPick }) {
  const frame = useRef(null);
  const [width, setWidth] = useState(0);
  const [zoom, setZoom] = useState(null);
  useLayoutEffect(() => {
    const seen = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    seen.observe(frame.current);
    setWidth(frame.current.clientWidth);
    return () => seen.disconnect();
  }, []);
  const across = width > 640;
  const shape = JSON.stringify(vertices.map((v) => [v.id, v.level, v.inputs]));
  const found = useMemo(() => placed(vertices, WIDTH, heightOf, across), [shape, across]);
  const room = Math.max(100, width - 32);
  const fit = Math.min(1, Math.max(across ? 0.5 : 0.75, room / found.width));
  const scale = zoom ?? fit;
  const most = Math.max(1, ...vertices.map((v) => v.out_per_second ?? 0));
  const step = (by) => setZoom(Math.min(1.6, Math.max(0.3, scale * by)));
  const keys = (event) => {
    if (event.key === "+" || event.key === "=") step(1.2);
    else if (event.key === "-") step(1 / 1.2);
    else if (event.key === "0") setZoom(null);
    else return;
    event.preventDefault();
  };
  return html`<section class="card graph" aria-label="The graph of the job">
    <div class="zoom" role="group" aria-label="Size of the graph">
      <button class="button icon small" type="button" aria-label="Larger" onClick=${() => step(1.2)}><${Icon} name="plus" /></button>
      <button class="button icon small" type="button" aria-label="Smaller" onClick=${() => step(1 / 1.2)}><${Icon} name="minus" /></button>
      <button class="button icon small" type="button" aria-label="Fit the width" onClick=${() => setZoom(null)}><${Icon} name="fit" /></button>
    </div>
    <div class="canvas" ref=${frame} onKeyDown=${keys} tabindex="0" role="group" aria-label="Vertices, sources first; plus and minus change the size">
      <div class="sheet" style=${{ width: `${found.width * scale}px`, height: `${found.height * scale}px` }}>
        <div class="scaled" style=${{ width: `${found.width}px`, height: `${found.height}px`, transform: `scale(${scale})` }}>
          <svg class="edges" width=${found.width} height=${found.height} aria-hidden="true">
            <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="11" markerHeight="11" orient="auto-start-reverse" markerUnits="userSpaceOnUse"><path d="M0 0.500 7.500 4 0 7.500z" /></marker></defs>
            ${found.edges.map((edge, n) => {
              const from = vertices.find((v) => v.id === edge.from);
              const middle = edge.points[Math.floor(edge.points.length / 2)];
              return html`<g key=${n} class=${chosen === edge.from || chosen === edge.to ? "near" : ""}>
                <path d=${path(edge.points, across)} marker-end="url(#tip)" style=${{ strokeWidth: `${1.25 + 2.75 * ((from?.out_per_second ?? 0) / most)}px` }} />
                <text x=${middle.x} y=${middle.y - 7} text-anchor="middle">${edge.input.ship_strategy.toLowerCase()}</text></g>`;
            })}
          </svg>
          ${vertices.map((v) => html`<${Box} key=${v.id} vertex=${v} at=${found.boxes.get(v.id)} now=${now} chosen=${v.id === chosen} slow=${v.id === bottleneck} onPick=${onPick} />`)}
        </div>
      </div>
    </div>
  </section>`;
}

function Box({ vertex, at, now, chosen, slow, onPick }) {
  const fresh = freshness(vertex.event_time_ended, vertex.watermark_min == null ? null : now - vertex.watermark_min, vertex.watermark_min);
  const source = !vertex.inputs.length;
  const facts = [
    ["in", source ? "reads" : "in", rate(vertex.in_per_second), short(vertex.records_in)],
    ["out", "out", rate(vertex.out_per_second), short(vertex.records_out)],
  ];
  const notes = [
    ["fresh", fresh.text === NONE ? null : fresh.text, "behind event time"],
    vertex.lag != null && ["lag", short(vertex.lag), "waiting"],
    vertex.state_bytes != null && ["state", bytes(vertex.state_bytes), "state"],
    vertex.busy != null && ["busy", percent(vertex.busy), "busy"],
  ].filter((note) => note && note[1]);
  const label = `${vertex.name}, ${vertex.state.toLowerCase()}, parallelism ${vertex.parallelism}${slow ? ", the bottleneck" : ""}`;
  return html`<button type="button" class=${`vertex ${vertex.state.toLowerCase()} ${chosen ? "chosen" : ""} ${slow ? "slow" : ""}`} aria-pressed=${String(chosen)} aria-label=${label}
      style=${{ left: `${at.x}px`, top: `${at.y}px`, width: `${WIDTH}px`, height: `${heightOf(vertex)}px` }} onClick=${() => onPick(vertex.id)}>
    <span class="line"><${State} of=${vertex.state} /><span>${vertex.skew > 40 && html`<span class="tag warn" title="how much more than the average the busiest subtask got">skew ${Math.round(vertex.skew)} %</span> `}<span class="tag" title="parallelism">×${count(vertex.parallelism)}</span></span></span>
    <span class="chain" title=${chain(vertex.name)}>${named(vertex).map((operator, n) => html`<span key=${operator.id} class=${n ? "" : "first"}>${operator.name}</span>`)}${vertex.operators.length > OPERATORS && html`<small>and ${vertex.operators.length - OPERATORS + 1} more</small>`}</span>
    <span class="flow">${facts.map(([key, name, now_, all]) => html`<span key=${key}><small>${name}</small><b>${now_ === NONE ? all : now_}</b></span>`)}</span>
    <span class="notes">${slow && html`<b class="bad">bottleneck</b>`}${notes.slice(0, slow ? 2 : 3).map(([key, text, of]) => html`<span key=${key}><b>${text}</b> <small>${key === "fresh" ? "old" : of}</small></span>`)}</span>
    ${vertex.busy != null && html`<span class=${`meter ${vertex.busy > 0.8 ? "bad" : vertex.busy > 0.5 ? "warn" : ""}`}><i style=${{ width: `${Math.min(100, vertex.busy * 100)}%` }} /></span>`}
  </button>`;
}

/** The same as a table, for eyes that compare and for screen readers. */
function List({ id, vertices, now }) {
  const columns = [
    { key: "name", name: "Vertex", by: (v) => v.name, cell: (v) => html`<a href=${link("job", id, "graph", v.id)}>${chain(v.name)}</a><span class="sub">level ${v.level} · ${v.operators.length === 1 ? "1 operator" : `${v.operators.length} operators`}</span>` },
    { key: "state", name: "State", by: (v) => v.state, cell: (v) => html`<${State} of=${v.state} />` },
    { key: "parallelism", name: "Parallelism", number: true, by: (v) => v.parallelism, cell: (v) => count(v.parallelism) },
    { key: "in", name: "Records in", number: true, by: (v) => v.records_in, cell: (v) => html`${short(v.records_in)}<span class="sub">${rate(v.in_per_second)}</span>` },
    { key: "out", name: "Records out", number: true, by: (v) => v.records_out, cell: (v) => html`${short(v.records_out)}<span class="sub">${rate(v.out_per_second)}</span>` },
    { key: "bytes", name: "Bytes out", number: true, class: "wide-only", by: (v) => v.bytes_out, cell: (v) => bytes(v.bytes_out) },
    { key: "watermark", name: "Behind event time", number: true, by: (v) => v.watermark_min, cell: (v) => (v.event_time_ended ? "complete" : v.watermark_min == null ? NONE : duration(now - v.watermark_min)) },
    { key: "lag", name: "Waiting", number: true, by: (v) => v.lag, cell: (v) => short(v.lag) },
    { key: "state_bytes", name: "State", number: true, by: (v) => v.state_bytes, cell: (v) => bytes(v.state_bytes) },
    { key: "skew", name: "Skew", number: true, by: (v) => v.skew, cell: (v) => html`<${Skew} of=${v.skew} />` },
  ];
  return html`<${Card} title="Vertices" flush><${Table} label="Vertices" columns=${columns} rows=${vertices} id=${(v) => v.id} /><//>`;
}

export const Skew = ({ of }) => (of == null ? NONE : html`<span class=${of > 100 ? "state bad" : of > 40 ? "state warn" : ""} title="how much more than the average the busiest subtask got">${Math.round(of)} %</span>`);
