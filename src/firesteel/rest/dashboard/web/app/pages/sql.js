// The statements of SQL that a job runs, and where their results go.
import { chain } from "../format.js";
import { html } from "../html.js";
import { useGet } from "../live.js";
import { Card, Copy, Loaded, Nothing } from "../parts.js";
import { link } from "../router.js";

export function Sql({ id, data }) {
  const found = useGet(`firesteel/v1/jobs/${id}/sql`, 0);
  const names = new Map(data.vertices.map((vertex) => [vertex.id, vertex.name]));
  return html`<${Loaded} of=${found} lines=${6}>${({ statements }) => (statements.length ? html`<div class="stack">${statements.map((statement, n) => html`
    <${Card} key=${n} title=${statements.length > 1 ? `Statement ${n + 1}` : "Statement"} side=${html`<${Copy} text=${statement.text} label=${`Copy statement ${n + 1}`} small />`}>
      <pre class="statement" tabindex="0" aria-label=${`Statement ${n + 1}`}>${statement.text}</pre>
      <p class="soft">Its results leave by ${statement.vertices.map((vertex, i) => html`${i > 0 && ", "}<a key=${vertex} href=${link("job", id, "graph", vertex)}>${chain(names.get(vertex) ?? vertex)}</a>`)}.</p>
    <//>`)}
    <p class="soft">Values behind names that are secret are masked.</p></div>`
    : html`<div class="card"><${Nothing} title="This job is not from SQL"><p>The text of an INSERT, a statement set or a query is shown here.</p><//></div>`)}<//>`;
}
