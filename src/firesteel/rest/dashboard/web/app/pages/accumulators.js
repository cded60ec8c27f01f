// Accumulators and metrics of users' functions, added up over all subtasks.
import { html, useState } from "../html.js";
import { useGet } from "../live.js";
import { Card, Loaded, Nothing, Search, Table } from "../parts.js";

const COLUMNS = [
  { key: "name", name: "Name", by: (row) => row.name, cell: (row) => html`<code>${row.name}</code>` },
  { key: "type", name: "Kind", by: (row) => row.type, cell: (row) => row.type },
  { key: "value", name: "Value", number: true, by: (row) => (Number.isNaN(Number(row.value)) ? row.value : Number(row.value)), cell: (row) => html`<span class="value">${row.value}</span>` },
];

export function Accumulators({ id }) {
  const found = useGet(`jobs/${id}/accumulators`);
  const [words, setWords] = useState("");
  return html`<${Loaded} of=${found} lines=${5}>${({ "user-task-accumulators": all }) => (all.length ? html`
    <${Card} title="Accumulators" flush side=${html`<${Search} label="Search accumulators" placeholder="Name" value=${words} onInput=${setWords} />`}>
      <${Table} label="Accumulators" columns=${COLUMNS} rows=${all.filter((row) => row.name.toLowerCase().includes(words.toLowerCase()))} id=${(row) => row.name} /><//>`
    : html`<div class="card"><${Nothing} title="This job has no accumulators"><p>What functions add to by <code>add_accumulator</code>, and the metrics that they register, is shown here as of the last committed epoch.</p><//></div>`)}<//>`;
}
