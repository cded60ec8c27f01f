// Hand in programs and run them. Flink calls them jars.
import { send, upload } from "../api.js";
import { time } from "../format.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { useGet } from "../live.js";
import { Alert, Card, Command, Dialog, Loaded, Nothing, Table } from "../parts.js";
import { go } from "../router.js";
import { tell } from "../toasts.js";
import { words } from "../actions.js";

export function Submit({ session, config }) {
  const enabled = config.features["web-submit"];
  const found = useGet(enabled ? "jars" : null);
  const [run, setRun] = useState(null);
  const [busy, setBusy] = useState(false);
  const [over, setOver] = useState(false);
  const field = useRef(null);
  useEffect(() => {
    document.title = "Submit · Firesteel";
  }, []);
  if (!enabled) return html`<div class="card"><${Nothing} title="Programs cannot be handed in here"><p>This server belongs to one program, or <code>web.submit.enable</code> is false.</p><//></div>`;
  const may = session.role === "submit";
  const take = async (files) => {
    setBusy(true);
    for (const file of files) {
      const form = new FormData();
      form.append("jarfile", file, file.name);
      try {
        await upload("jars/upload", form);
        tell("good", `${file.name} is here`);
      } catch (error) {
        tell("bad", `${file.name}: ${error.message}`);
      }
    }
    setBusy(false);
    found.refresh();
  };
  const drop = async (jar) => {
    if (!confirm(`Remove ${jar.name} from the server? Jobs that run go on.`)) return;
    try {
      await send("DELETE", `jars/${encodeURIComponent(jar.id)}`);
      found.refresh();
    } catch (error) {
      tell("bad", error.message);
    }
  };
  const columns = [
    { key: "name", name: "Program", by: (jar) => jar.name, cell: (jar) => html`<b>${jar.name}</b><span class="sub mono">${jar.entry.map((entry) => entry.name).join(", ")}</span>` },
    { key: "uploaded", name: "Handed in", number: true, by: (jar) => jar.uploaded, cell: (jar) => time(jar.uploaded) },
    { key: "act", name: html`<span class="sr">Commands</span>`, number: true, cell: (jar) => html`<span class="row end"><button class="button small primary" type="button" disabled=${!may} onClick=${() => setRun(jar)}>Run ...</button><button class="button small danger" type="button" disabled=${!may} onClick=${() => drop(jar)}>Remove</button></span>` },
  ];
  return html`<div class="stack"><h1>Submit a program</h1>
    <label class=${`drop ${over ? "over" : ""}`} onDragOver=${(e) => { e.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${(e) => { e.preventDefault(); setOver(false); if (may) take(e.dataTransfer.files); }}>
      <input ref=${field} class="sr" type="file" accept=".py,.zip,.whl,.gz" multiple disabled=${!may || busy} onChange=${(e) => { take([...e.currentTarget.files]); e.currentTarget.value = ""; }} />
      <b>${busy ? "On its way ..." : "Choose a program, or drop it here"}</b><span class="soft">a file .py, or a .zip with __main__.py. Programs run as the user of the server.</span></label>
    <${Loaded} of=${found} lines=${3}>${({ files }) => html`<${Card} title="Programs" flush><${Table} label="Programs" columns=${columns} rows=${files} id=${(jar) => jar.id} sort=${{ key: "uploaded", down: true }} empty=${html`<${Nothing} title="No program is here yet"><p>From a terminal:</p><pre>firesteel run -m ${location.host} program.py</pre><//>`} /><//>`}<//>
    ${run && html`<${Run} jar=${run} onClose=${() => setRun(null)} />`}
  </div>`;
}

function Run({ jar, onClose }) {
  const [form, setForm] = useState({ entry: jar.entry[0]?.name ?? "", args: "", parallelism: "", savepoint: "", allow: false });
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const set = (key) => (event) => setForm({ ...form, [key]: event.currentTarget.type === "checkbox" ? event.currentTarget.checked : event.currentTarget.value });
  const line = words("firesteel", "run", "-m", location.host, "-d", form.parallelism && "-p", form.parallelism, form.savepoint && "-s", form.savepoint, form.allow && "-n", jar.name) + (form.args ? ` ${form.args}` : "");
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      const { jobid } = await send("POST", `jars/${encodeURIComponent(jar.id)}/run`, {
        entryClass: form.entry || null, programArgs: form.args || null, parallelism: form.parallelism ? Number(form.parallelism) : null, savepointPath: form.savepoint || null, allowNonRestoredState: form.allow || null,
      });
      onClose();
      go("job", jobid);
    } catch (problem) {
      setError(problem.texts?.join("\n") ?? problem.message);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${`Run ${jar.name}`} onClose=${onClose} onSubmit=${submit} footer=${html`<button class="button" type="button" onClick=${onClose}>Leave it</button><button class="button primary" disabled=${busy}>${busy ? "Starting ..." : "Run"}</button>`}>
    <label class="field"><span>Function</span><input type="text" value=${form.entry} onInput=${set("entry")} spellcheck=${false} /><small>What is called. Empty: the program as it is.</small></label>
    <label class="field"><span>Arguments</span><input type="text" value=${form.args} onInput=${set("args")} spellcheck=${false} /></label>
    <label class="field"><span>Parallelism</span><input type="number" min="1" value=${form.parallelism} onInput=${set("parallelism")} placeholder="as configured" /></label>
    <label class="field"><span>Begin with</span><input type="text" value=${form.savepoint} onInput=${set("savepoint")} placeholder="path of a savepoint or checkpoint" spellcheck=${false} /></label>
    <label class="check"><input type="checkbox" checked=${form.allow} onChange=${set("allow")} /><span>Leave out state that no operator of the program takes</span></label>
    <div><div class="soft">The same on the command line</div><${Command} text=${line} /></div>
    ${error && html`<${Alert} kind="bad"><pre>${error}</pre><//>`}
  <//>`;
}
