// Logs as text: the newest lines, followed while they grow.
import { root, text } from "../api.js";
import { bytes, time } from "../format.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { useGet, useLive } from "../live.js";
import { Card, Loaded, Nothing, Search, Segments } from "../parts.js";

const TAILS = [[65536, "64 KiB"], [1 << 20, "1 MiB"], [8 << 20, "8 MiB"]];
const DRAWN = 5000; // lines

/** The logs of the driver, those of a job first. */
export const JobLogs = ({ id, data }) => html`<${Logs} list="jobmanager/logs" one="jobmanager/logs/" about=${id} over=${data.job.ended_ms != null} />`;

/** @param list the path of the list; @param one what comes before a name; @param about whose logs come first. */
export function Logs({ list, one, about }) {
  const [chosen, setChosen] = useState(null);
  const found = useGet(list, 2000);
  return html`<${Loaded} of=${found} lines=${10}>${({ logs }) => {
    if (!logs.length) return html`<div class="card"><${Nothing} title="There are no logs here"><p>Spark keeps the logs of executors on their machines, or where the resource manager puts them. In local mode they are in the log of the driver.</p><//></div>`;
    const known = [...logs].sort((a, b) => (about ? b.name.includes(about) - a.name.includes(about) : 0));
    const log = known.find((l) => l.name === chosen) ?? known[0];
    return html`<${Log} key=${log.name} log=${log} one=${one} picker=${html`<select aria-label="Log" value=${log.name} onChange=${(e) => setChosen(e.currentTarget.value)}>${known.map((l) => html`<option key=${l.name} value=${l.name}>${l.name} (${bytes(l.size)})</option>`)}</select>`} />`;
  }}<//>`;
}

function Log({ log, one, picker }) {
  const [tail, setTail] = useState(65536);
  const [follow, setFollow] = useState(true);
  const [wrap, setWrap] = useState(true);
  const [words, setWords] = useState("");
  const here = useRef(null);
  const [frozen, setFrozen] = useState(null);
  const path = `${one}${encodeURIComponent(log.name)}?tail=${tail}`;
  // It is read again when the list says that it has changed.
  const version = follow ? `${log.size} ${log.mtime}` : frozen;
  const found = useLive((signal) => text(path, signal), [path], 0);
  const read = useRef(version);
  useEffect(() => {
    if (follow && read.current !== version) found.refresh();
    read.current = version;
  }, [version]);
  useLayoutEffect(() => {
    if (follow && here.current) here.current.scrollTop = here.current.scrollHeight;
  }, [found.data, follow, words]);
  const scrolled = ({ currentTarget: box }) => { // the last one may come when the box is no longer on the page
    const low = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
    if (!low && follow) {
      setFrozen(version);
      setFollow(false);
    }
  };
  return html`<${Card} label="Log" title=${picker} flush side=${html`
      <${Search} label="Search lines" placeholder="Lines with" value=${words} onInput=${setWords} />
      <${Segments} label="How much of the end" options=${TAILS} value=${tail} onPick=${setTail} />
      <label class="check"><input type="checkbox" checked=${wrap} onChange=${(e) => setWrap(e.currentTarget.checked)} /> <span>Wrap</span></label>
      <label class="check"><input type="checkbox" checked=${follow} onChange=${(e) => setFollow(e.currentTarget.checked)} /> <span>Follow</span></label>
      <a class="button small" href=${`${root}${one}${encodeURIComponent(log.name)}`} download=${log.name}>Download</a>`}>
    ${found.data == null ? html`<${Nothing} title=${found.error ? "It could not be read" : "Reading ..."}>${found.error && html`<p>${found.error.message}</p>`}<//>` : html`<${Lines} here=${here} text=${found.data} words=${words} wrap=${wrap} onScroll=${scrolled} cut=${found.data.length >= tail} />`}
    <p class="under soft row spread"><span>${bytes(log.size)}, last written ${time(log.mtime)}</span><span>${found.error ? found.error.message : follow ? "following" : "standing still"}</span></p><//>`;
}

const LEVEL = /\b(ERROR|FATAL|WARN(?:ING)?|DEBUG|TRACE)\b/;

function Lines({ here, text: content, words, wrap, onScroll, cut }) {
  const sought = words.toLowerCase();
  let lines = content.split("\n");
  if (cut) lines.shift(); // the first one is a part
  if (lines.at(-1) === "") lines.pop();
  const all = lines.length;
  if (sought) lines = lines.filter((line) => line.toLowerCase().includes(sought));
  const shown = lines.slice(-DRAWN);
  let level = "";
  return html`<div class=${`log ${wrap ? "wrap" : ""}`} ref=${here} onScroll=${onScroll} tabindex="0" role="log" aria-live="off" aria-label="Lines of the log">${shown.length ? shown.map((line, n) => {
    const begins = /^\[?\d{2,4}[-/]\d\d[-/]\d\d/.test(line);
    if (begins) level = LEVEL.exec(line.slice(0, 120))?.[1] ?? ""; // all lines up to the next that begins are of it
    return html`<div key=${all - shown.length + n} class=${`l ${begins ? "begin" : ""} ${level.toLowerCase()}`}>${line || " "}</div>`;
  }) : html`<${Nothing} title=${sought ? "No line has it" : "It is empty"} />`}</div>`;
}
