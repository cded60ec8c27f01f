// The driver: what Flink calls the job manager. Its settings, what it runs in, its logs, threads and data sets.
import { send, optional } from "../api.js";
import { count } from "../format.js";
import { html, useEffect, useState } from "../html.js";
import { useGet, useLive } from "../live.js";
import { Card, Loaded, Nothing, Pairs, Search, Table, Tabs } from "../parts.js";
import { link } from "../router.js";
import { tell } from "../toasts.js";
import { Options } from "./config.js";
import { Logs } from "./logs.js";

const TABS = [["config", "Configuration", Settings], ["environment", "Environment", Environment], ["logs", "Logs", DriverLogs], ["metrics", "Metrics", Figures_], ["threads", "Threads", Threads], ["data", "Kept streams", DataSets]];

export function Driver({ parts: [tab = "config"], session }) {
  const Page = TABS.find(([key]) => key === tab)?.[2];
  useEffect(() => {
    document.title = "Driver · Firesteel";
  }, []);
  return html`<h1>Driver</h1><${Tabs} label="Pages of the driver" current=${tab} tabs=${TABS.map(([key, name]) => [key, name, link("driver", key)])} />
    ${Page ? html`<${Page} session=${session} />` : html`<div class="card"><${Nothing} title="There is no such page" /></div>`}`;
}

function Settings() {
  const found = useGet("jobmanager/config", 0);
  return html`<${Loaded} of=${found}>${(rows) => html`<div class="stack"><${Options} title="Configuration" none="Nothing is set: all options have their defaults" rows=${rows} /><p class="soft">Each job may have settings of its own, on its page.</p></div>`}<//>`;
}

function Environment() {
  const found = useGet("jobmanager/environment", 0);
  const [words, setWords] = useState("");
  return html`<${Loaded} of=${found}>${({ jvm, classpath, python }) => html`<div class="stack">
    ${python && html`<${Card} title="Python"><${Pairs} of=${[["Version", python.version], ["Program", html`<code>${python.executable}</code>`]]} /><//>
    <${Card} title="Packages" flush side=${html`<${Search} label="Search packages" placeholder="Package" value=${words} onInput=${setWords} />`}><${Table} label="Packages" most=${40} rows=${Object.entries(python.packages).filter(([name]) => name.toLowerCase().includes(words.toLowerCase()))} id=${(row) => row[0]} columns=${PACKAGES} empty=${html`<${Nothing} title="No package has such a name" />`} /><//>`}
    <${Card} title="Java">${jvm.version ? html`<${Pairs} of=${[["Version", jvm.version], ["Machine", jvm.arch], ["Options", jvm.options.length ? html`<ul class="plain mono">${jvm.options.map((option, n) => html`<li key=${n}>${option}</li>`)}</ul>` : "none"], ["Class path", html`<details><summary>${count(classpath.length)} entries</summary><ul class="plain mono">${classpath.map((entry, n) => html`<li key=${n}>${entry}</li>`)}</ul></details>`]]} />` : html`<${Nothing} title="No virtual machine runs" />`}<//>
  </div>`}<//>`;
}

const PACKAGES = [
  { key: "name", name: "Package", by: (row) => row[0], cell: (row) => row[0] },
  { key: "version", name: "Version", cell: (row) => html`<span class="mono">${row[1]}</span>` },
];

function DriverLogs() {
  return html`<${Logs} list="jobmanager/logs" one="jobmanager/logs/" />`;
}

function Figures_() {
  const names = useGet("jobmanager/metrics", 0);
  const wanted = (names.data ?? []).map((metric) => metric.id);
  const found = useGet(wanted.length ? `jobmanager/metrics?get=${wanted.map(encodeURIComponent).join(",")}` : null);
  const rows = (found.data ?? []).map(({ id, value }) => ({ key: id, value: Number.isFinite(Number(value)) ? count(Number(value)) : value }));
  return html`<${Loaded} of=${names}>${() => html`<${Options} title="Metrics" none="No metric is known yet" rows=${rows} />`}<//>`;
}

function Threads() {
  const found = useGet("jobmanager/thread-dump", 0);
  return html`<${Loaded} of=${found}>${({ threadInfos }) => html`<${Card} title="Threads of the driver's Python" side=${html`<button class="button small" type="button" onClick=${found.refresh}>Look again</button>`}>
    ${threadInfos.map((thread) => html`<details key=${thread.threadName}><summary class="mono">${thread.threadName}</summary><pre class="dump">${thread.stringifiedThreadInfo}</pre></details>`)}<//>`}<//>`;
}

function DataSets({ session }) {
  const found = useLive((signal) => optional("datasets", signal), ["datasets"]);
  const drop = async (id) => {
    try {
      await send("DELETE", `datasets/${id}`);
      tell("good", "The stream is being removed");
      found.refresh();
    } catch (error) {
      tell("bad", error.message);
    }
  };
  const columns = [
    { key: "id", name: "Stream", cell: (row) => html`<code>${row.id}</code>` },
    { key: "drop", name: html`<span class="sr">Commands</span>`, number: true, cell: (row) => html`<button class="button small danger" type="button" disabled=${session.role === "read"} onClick=${() => confirm(`Remove the stream ${row.id}? Jobs that read it will make it again.`) && drop(row.id)}>Remove</button>` },
  ];
  return html`<${Loaded} of=${found}>${(data) => html`<${Card} title="Streams that cache() keeps" flush><${Table} label="Kept streams" columns=${columns} rows=${data?.dataSets ?? []} id=${(row) => row.id} empty=${html`<${Nothing} title="None is kept" />`} /><//>`}<//>`;
}
