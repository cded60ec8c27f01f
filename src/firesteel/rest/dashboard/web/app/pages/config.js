// The settings of a job.
import { html, useState } from "../html.js";
import { useGet } from "../live.js";
import { Card, Loaded, Nothing, Pairs, Search, Table } from "../parts.js";

const COLUMNS = [
  { key: "key", name: "Option", by: (row) => row.key, cell: (row) => html`<code>${row.key}</code>` },
  { key: "value", name: "Value", class: "full", by: (row) => row.value, cell: (row) => html`<span class="mono value">${row.value}</span>` },
];

/** Options with a field to search in. */
export function Options({ title, rows, none }) {
  const [words, setWords] = useState("");
  const found = rows.filter((row) => `${row.key} ${row.value}`.toLowerCase().includes(words.toLowerCase()));
  return html`<${Card} title=${title} flush side=${rows.length > 6 && html`<${Search} label=${`Search ${title.toLowerCase()}`} placeholder="Option or value" value=${words} onInput=${setWords} />`}>
    <${Table} label=${title} columns=${COLUMNS} rows=${found} id=${(row) => row.key} most=${300} empty=${html`<${Nothing} title=${rows.length ? "No option is like that" : none} />`} /><//>`;
}

export function Config({ id, data }) {
  const found = useGet(`jobs/${id}/config`, 0);
  const settings = useGet(`firesteel/v1/jobs/${id}/settings`, 0);
  return html`<${Loaded} of=${found} lines=${6}>${({ "execution-config": config }) => html`<div class="stack">
    <${Card} title="How it runs"><${Pairs} of=${[
      ["Parallelism", String(config["job-parallelism"])], ["After a failure", config["restart-strategy"]],
      ["Kind", data.job.job_type === "BATCH" ? "batch: ends with its input" : "streaming"], ["Vertices", `${data.job.vertices} with ${data.job.subtasks} subtasks`],
    ]} /><//>
    <${Loaded} of=${settings}>${(rows) => html`<${Options} title="Configuration" none="Nothing is set: all options have their defaults" rows=${rows} />`}<//>
    ${Object.keys(config["user-config"]).length > 0 && html`<${Options} title="Parameters of the program" none="" rows=${Object.entries(config["user-config"]).map(([key, value]) => ({ key, value })).sort((a, b) => a.key.localeCompare(b.key))} />`}
    <p class="soft">Values of options whose names say that they are secret are masked.</p>
  </div>`}<//>`;
}
