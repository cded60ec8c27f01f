// What Python workers are doing: frames above those that called them, as wide as they were seen often.
import { count, exact, percent, plural, time } from "../format.js";
import { html, useEffect, useState } from "../html.js";
import { useLive } from "../live.js";
import { get } from "../api.js";
import { Bones, Nothing, Segments } from "../parts.js";

/** Where a function is, without the directories that all have. */
const shortened = (name) => name.replace(/\((?:[^()]*\/)?(?:site-packages|src|lib\/python[\d.]+)\//, "(");
const LEAST = 0.002; // narrower frames are not drawn

export function Flames({ id, vertex, over }) {
  const [idle, setIdle] = useState("work");
  const [round, setRound] = useState(0);
  const path = `firesteel/v1/jobs/${id}/vertices/${vertex.id}/flamegraph?idle=${idle === "idle"}`;
  const found = useLive(over ? null : (signal) => get(path, signal), [path, round], 0);
  if (over) return html`<${Nothing} title="The job has ended"><p>A flame graph shows what workers are doing now.</p><//>`;
  return html`<div class="stack">
    <div class="row spread">
      <${Segments} label="Which threads" options=${[["work", "While they work"], ["idle", "While they wait, too"]]} value=${idle} onPick=${setIdle} />
      <button class="button small" type="button" onClick=${() => setRound(round + 1)} disabled=${!found.data && !found.error}>Sample again</button>
    </div>
    ${found.data && !found.data.samples ? html`<${Nothing} title="Nothing was at work"><p>No task of level ${vertex.level} was seen at work in ${plural(found.data.processes, "Python process", "Python processes")} of the server's machine for two seconds. Workers of other machines cannot be seen from there.</p><//>` : found.data ? html`<p class="soft">Seen ${count(found.data.samples)} times in ${count(found.data.processes)} processes at <span title=${exact(found.data.taken_ms)}>${time(found.data.taken_ms)}</span>. Vertices of one level share their tasks, so this is what all of level ${vertex.level} does.</p><${Tree} root=${found.data.data} />`
      : found.error ? html`<${Nothing} title="No flame graph"><p>${found.error.message}</p><//>`
      : html`<div><p class="soft">Looking at the workers for two seconds ...</p><${Bones} lines=${4} /></div>`}
  </div>`;
}

function Tree({ root }) {
  const [top, setTop] = useState([root]);
  useEffect(() => setTop([root]), [root]);
  const shown = top[top.length - 1];
  const rows = [];
  const draw = (node, depth, left, width) => {
    (rows[depth] ??= []).push({ node, left, width });
    let at = left;
    for (const child of [...node.children].sort((a, b) => b.value - a.value)) {
      const share = (width * child.value) / node.value;
      if (share >= LEAST) draw(child, depth + 1, at, share);
      at += share;
    }
  };
  draw(shown, 0, 0, 1);
  return html`<div class="flames" role="group" aria-label="Frames, callers first">
    ${top.length > 1 && html`<button class="button small" type="button" onClick=${() => setTop(top.slice(0, -1))}>Back to what called it</button>`}
    ${rows.map((row, depth) => html`<div key=${depth} class="frames">${row.map(({ node, left, width }, n) => html`
      <button key=${n} type="button" class=${frameKind(node.name)} style=${{ left: `${left * 100}%`, width: `${width * 100}%` }} title=${`${node.name}\n${percent(node.value / root.value)} of all, seen ${node.value} times`}
        aria-label=${`${node.name}, ${percent(node.value / root.value)}`} onClick=${() => node !== shown && node.children.length && setTop([...top, node])}>${width > 0.03 ? shortened(node.name) : ""}</button>`)}</div>`)}
  </div>`;
}

/** Own code in one colour, the engine's in another. */
const frameKind = (name) => (name === "root" ? "frame root" : /[/(]firesteel[/.]|pyspark/.test(name) ? "frame engine" : "frame");
