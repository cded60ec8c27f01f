// What can be done with a job. Each button says what will happen and how to do the same on a command line, and
// does nothing until that is confirmed.
import { completed, get, send } from "./api.js";
import { chain } from "./format.js";
import { html, useEffect, useState } from "./html.js";
import { Alert, Command, Copy, Dialog } from "./parts.js";
import { tell } from "./toasts.js";

const KINDS = { savepoint: Savepoint, stop: Stop, cancel: Cancel, rescale: Rescale };

export function Actions({ data, config, session, refresh }) {
  const [open, setOpen] = useState(null);
  const { job } = data;
  if (job.ended_ms != null && !open) return null; // what came of a command is still to be read
  const mayNot = session.role === "read" ? "These credentials may look only." : undefined;
  const features = config.features;
  const Window = KINDS[open];
  const button = (key, name, kind = "") => html`<button class=${`button ${kind}`} type="button" disabled=${mayNot} title=${mayNot} onClick=${() => setOpen(key)}>${name}</button>`;
  return html`<div class="row" role="group" aria-label="Commands">
    ${job.ended_ms == null && html`${button("savepoint", "Savepoint")}
      ${features["web-rescale"] && data.rescalable && button("rescale", "Rescale")}
      ${button("stop", "Stop")}
      ${features["web-cancel"] && button("cancel", "Cancel", "danger")}`}
    ${Window && html`<${Window} data=${data} onClose=${() => setOpen(null)} refresh=${refresh} />`}
  </div>`;
}

/** Words of a shell: quoted where they must be. */
export const words = (...parts) => parts.filter(Boolean).map((part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : `'${part.replaceAll("'", "'\\''")}'`)).join(" ");
const cli = (verb, ...rest) => words("firesteel", verb, "-m", location.protocol === "https:" ? location.origin : location.host, ...rest);

/** @param act sends the command; resolves with what is said when it is done. */
function Confirm({ title, children, line, verb, danger, act, onClose }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const [said, setSaid] = useState(null);
  const go = async () => {
    setBusy(true);
    setError(null);
    try {
      setSaid(await act());
    } catch (problem) {
      setError(problem.message);
    } finally {
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose} onSubmit=${go} footer=${said
    ? html`<button class="button primary" type="button" autofocus onClick=${onClose}>Close</button>`
    : html`<button class="button" type="button" onClick=${onClose}>${busy ? "Close, it goes on" : "Leave it as it is"}</button>
           <button class=${`button ${danger ? "danger solid" : "primary"}`} disabled=${busy}>${busy ? "Working ..." : verb}</button>`}>
    ${said ? html`<${Alert} kind="good">${said}<//>` : html`${children}
      <div><div class="soft">The same on the command line</div><${Command} text=${line} /></div>
      ${error && html`<${Alert} kind="bad"><pre>${error}</pre><//>`}`}
  <//>`;
}

async function operation(job, path, body) {
  const { "request-id": trigger } = await send("POST", `jobs/${job.jid}/${path}`, body);
  const found = await completed(`jobs/${job.jid}/savepoints/${trigger}`);
  const cause = found["failure-cause"];
  if (cause) throw new Error(cause["stack-trace"] || cause.class);
  return found.location;
}

const placed = (text, location) => html`${text}<div class="row"><code>${location}</code> <${Copy} text=${location} label="Copy the path" small /></div>`;

const Directory = ({ value, onInput }) => html`
  <label class="field"><span>Directory</span><input type="text" value=${value} onInput=${(e) => onInput(e.currentTarget.value)} placeholder="as configured: execution.checkpointing.savepoint-dir" spellcheck=${false} />
    <small>Where the savepoint goes. Empty: the configured one.</small></label>`;

function Savepoint({ data: { job }, onClose, refresh }) {
  const [directory, setDirectory] = useState("");
  const act = async () => {
    const location = await operation(job, "savepoints", { "target-directory": directory || null, "cancel-job": false });
    refresh();
    tell("good", `Savepoint of ${job.name} taken`);
    return placed("The savepoint is there:", location);
  };
  return html`<${Confirm} title=${`Take a savepoint of ${job.name}`} verb="Take the savepoint" act=${act} onClose=${onClose} line=${cli("savepoint", job.jid, directory)}>
    <p>The job goes on. A savepoint is a copy of its state that is yours: no newer checkpoint removes it, and another version of the program can begin with it.</p>
    <${Directory} value=${directory} onInput=${setDirectory} /><//>`;
}

function Stop({ data: { job }, onClose, refresh }) {
  const [directory, setDirectory] = useState("");
  const [drain, setDrain] = useState(false);
  const act = async () => {
    const location = await operation(job, "stop", { targetDirectory: directory || null, drain });
    refresh();
    return placed(`${job.name} has ended with the savepoint`, location);
  };
  return html`<${Confirm} title=${`Stop ${job.name} with a savepoint`} verb="Stop the job" act=${act} onClose=${onClose} line=${cli("stop", drain && "--drain", directory && "-p", directory, job.jid)}>
    <p>The job takes a savepoint and ends. Nothing is lost: it can go on from there, with other code or another parallelism.</p>
    <${Directory} value=${directory} onInput=${setDirectory} />
    <label class="check"><input type="checkbox" checked=${drain} onChange=${(e) => setDrain(e.currentTarget.checked)} /><span>Drain: end event time first, so that all windows and timers fire. Only for a job that will not go on.</span></label><//>`;
}

function Cancel({ data: { job }, onClose, refresh }) {
  const act = async () => {
    await send("PATCH", `jobs/${job.jid}?mode=cancel`, {});
    refresh();
    return `${job.name} was told to end.`;
  };
  return html`<${Confirm} title=${`Cancel ${job.name}`} verb="Cancel the job" danger act=${act} onClose=${onClose} line=${cli("cancel", job.jid)}>
    <p>The job ends where it is, without a savepoint. What was not committed is not written. To go on later, stop it with a savepoint instead.</p><//>`;
}

function Rescale({ data: { job, vertices }, onClose, refresh }) {
  const [wanted, setWanted] = useState(() => Object.fromEntries(vertices.map((v) => [v.id, v.parallelism])));
  const [known, setKnown] = useState(null);
  useEffect(() => {
    get(`jobs/${job.jid}/resource-requirements`).then(setKnown, () => setKnown({}));
  }, []);
  const changed = vertices.filter((v) => Number(wanted[v.id]) !== v.parallelism);
  const act = async () => {
    const body = Object.fromEntries(vertices.map((v) => [v.id, { parallelism: { lowerBound: known?.[v.id]?.parallelism.lowerBound ?? 1, upperBound: Number(wanted[v.id]) } }]));
    const before = new Set((await get(`jobs/${job.jid}/rescales/history`)).map((entry) => entry.rescaleUuid));
    await send("PUT", `jobs/${job.jid}/resource-requirements`, body);
    for (let n = 0; n < 120; n += 1) {
      const made = (await get(`jobs/${job.jid}/rescales/history`)).find((entry) => !before.has(entry.rescaleUuid));
      if (made) {
        refresh();
        return `${made.terminalState === "COMPLETED" ? "The parallelism has changed." : `It did not change: ${made.terminatedReason ?? made.terminalState}.`}`;
      }
      await new Promise((done) => setTimeout(done, 500));
    }
    return "The job was told. It changes its parallelism between two epochs.";
  };
  const all = vertices.every((v) => wanted[v.id] === wanted[vertices[0].id]);
  const line = all ? cli("rescale", job.jid, String(wanted[vertices[0].id])) : cli("rescale", job.jid, ...vertices.flatMap((v) => ["--vertex", `${v.id}=${wanted[v.id]}`]));
  return html`<${Confirm} title=${`Rescale ${job.name}`} verb="Change the parallelism" act=${act} onClose=${onClose} line=${line}>
    <p>The job goes on with another parallelism from the next epoch on. Keyed state moves with its keys.</p>
    ${vertices.map((v) => html`<label key=${v.id} class="field"><span>${chain(v.name)}</span><input type="number" min="1" max=${v.max_parallelism} required value=${wanted[v.id]} onInput=${(e) => setWanted({ ...wanted, [v.id]: Number(e.currentTarget.value) })} /></label>`)}
    ${!changed.length && html`<p class="soft">Nothing is changed yet.</p>`}<//>`;
}
