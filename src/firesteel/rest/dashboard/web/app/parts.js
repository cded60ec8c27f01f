// Parts that several pages are made of.
import { html, useEffect, useId, useRef, useState } from "./html.js";
import { count } from "./format.js";

// ---- states

const STATES = {
  RUNNING: "good", FINISHED: "done", FAILED: "bad", FAILING: "bad", RESTARTING: "warn", CANCELED: "still", CANCELLING: "still",
  CANCELING: "still", CREATED: "busy", INITIALIZING: "busy", SCHEDULED: "busy", DEPLOYING: "busy", SUSPENDED: "still",
  COMPLETED: "good", IN_PROGRESS: "busy",
};
const HEALTH = {
  good: ["good", "Healthy"], behind: ["warn", "Behind"], unstable: ["warn", "Unstable"], stalled: ["bad", "Stalled"], failed: ["bad", "Failed"],
  restarting: ["warn", "Restarting"], starting: ["busy", "Starting"], finished: ["done", "Finished"], canceled: ["still", "Cancelled"],
};

export const State = ({ of }) => html`<span class=${`state ${STATES[of] ?? "still"}`}>${word(of)}</span>`;
export const Health = ({ of, pill }) => html`<span class=${`state ${HEALTH[of]?.[0] ?? "still"} ${pill ? "pill" : ""}`}>${healthWord(of)}</span>`;
export const healthWord = (health) => HEALTH[health]?.[1] ?? health;
export const word = (state) => String(state).charAt(0) + String(state).slice(1).toLowerCase().replaceAll("_", " ");

// ---- nothing, waiting, errors

export const Nothing = ({ title, children }) => html`<div class="note-box"><h3>${title}</h3>${children}</div>`;
export const Alert = ({ kind = "", children }) => html`<div class=${`alert ${kind}`} role=${kind === "bad" ? "alert" : "status"}><div>${children}</div></div>`;
export const Bones = ({ lines = 5 }) => html`
  <div class="bones" role="status"><span class="sr">Loading</span>${Array.from({ length: lines }, (_, n) => html`<span aria-hidden="true" style=${{ width: `${[92, 78, 85, 64, 71][n % 5]}%` }} />`)}</div>`;

/** An answer on its way, that did not come, or that is there. What was there before stays below an error. */
export function Loaded({ of, lines, children, missing }) {
  if (of.data == null && of.error) {
    if (missing && of.error.status === 404) return missing(of.error);
    return html`<div class="card"><${Nothing} title="This could not be read"><p>${of.error.message}</p><button class="button" onClick=${of.refresh}>Try again</button><//></div>`;
  }
  if (of.data == null) return html`<div class="card"><${Bones} lines=${lines} /></div>`;
  return html`${of.error && html`<${Alert} kind="warn">${of.error.message} What is shown is from before.<//>`}${children(of.data)}`;
}

// ---- figures

export const Figures = ({ children, label }) => html`<dl class="figures" aria-label=${label}>${children}</dl>`;
export const Figure = ({ name, value, unit, note, title, lead }) => html`
  <div class=${`figure ${lead ? "lead" : ""}`} title=${title}>
    <dt>${name}</dt><dd>${value}${unit && html` <small>${unit}</small>`}</dd>
    ${note != null && html`<div class="note">${note}</div>`}
  </div>`;
export const Pairs = ({ of }) => html`<dl class="pairs">${of.filter((pair) => pair && pair[1] != null && pair[1] !== "").map(([name, value]) => html`<dt key=${name}>${name}</dt><dd>${value}</dd>`)}</dl>`;

export const Card = ({ title, side, flush, children, label }) => html`
  <section class="card" aria-label=${label ?? (typeof title === "string" ? title : undefined)}>
    ${(title || side) && html`<header><h2>${title}</h2>${side && html`<div class="row">${side}</div>`}</header>`}
    <div class=${`body ${flush ? "flush" : ""}`}>${children}</div>
  </section>`;

export function Chips({ label, options, value, onPick }) {
  return html`<div class="chips" role="group" aria-label=${label}>${options.map(([key, name, n]) => html`
    <button key=${key} class="chip" type="button" aria-pressed=${String(value === key)} onClick=${() => onPick(key)}>${name}${n != null && html` <b>${count(n)}</b>`}</button>`)}</div>`;
}

export function Segments({ label, options, value, onPick }) {
  return html`<div class="segments" role="group" aria-label=${label}>${options.map(([key, name]) => html`
    <button key=${key} type="button" aria-pressed=${String(value === key)} onClick=${() => onPick(key)}>${name}</button>`)}</div>`;
}

export function Tabs({ label, tabs, current }) {
  const here = useRef(null);
  useEffect(() => here.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [current]);
  return html`<nav class="tabs" aria-label=${label} ref=${here}>${tabs.map(([key, name, href, n, kind]) => html`
    <a key=${key} href=${href} aria-current=${key === current ? "page" : undefined}>${name}${n ? html`<span class=${`count ${kind ?? ""}`}>${count(n)}</span>` : null}</a>`)}</nav>`;
}

// ---- tables

/**
 * A table that can be sorted and shows so many rows at first.
 * @param columns `{key, name, by, cell, number}`; `by`: what it is sorted by, none: it is not.
 * @param onRow what happens when a row is chosen; the first cell has a link or button for the keyboard.
 */
export function Table({ label, columns, rows, id, sort, most = 100, empty, rowClass, after }) {
  const [order, setOrder] = useState(sort ?? null);
  const [shown, setShown] = useState(most);
  const by = order && columns.find((column) => column.key === order.key)?.by;
  const sorted = by ? [...rows].sort((a, b) => compare(by(a), by(b)) * (order.down ? -1 : 1)) : rows;
  if (!rows.length && empty) return empty;
  const turn = (key) => setOrder(order?.key === key ? { key, down: !order.down } : { key, down: Boolean(columns.find((c) => c.key === key).number) });
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${label}>
      <table class="rows">
        <thead><tr>${columns.map((column) => html`
          <th key=${column.key} scope="col" class=${`${column.number ? "n" : ""} ${column.class ?? ""}`} aria-sort=${order?.key === column.key ? (order.down ? "descending" : "ascending") : undefined}>
            ${column.by ? html`<button type="button" onClick=${() => turn(column.key)}>${column.name}<span aria-hidden="true">${order?.key === column.key ? (order.down ? " ↓" : " ↑") : ""}</span></button>` : column.name}
          </th>`)}</tr></thead>
        <tbody>${sorted.slice(0, shown).map((row) => html`
          <tr key=${id(row)} class=${rowClass?.(row)}>${columns.map((column) => html`<td key=${column.key} data-label=${typeof column.name === "string" ? column.name : undefined} class=${`${column.number ? "n" : ""} ${column.class ?? ""}`}>${column.cell(row)}</td>`)}</tr>${after?.(row)}`)}</tbody>
      </table>
    </div>
    ${sorted.length > shown && html`<div class="note-box more"><button class="button" type="button" onClick=${() => setShown(shown + 500)}>Show ${count(Math.min(500, sorted.length - shown))} more of ${count(sorted.length)}</button></div>`}`;
}

function compare(a, b) {
  if (a == null || b == null) return a == null ? (b == null ? 0 : 1) : -1;
  return typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
}

// ---- to copy, to look for

export function Command({ text, label }) {
  return html`<div class="command"><code>${text}</code><${Copy} text=${text} label=${label ?? "Copy the command"} /></div>`;
}

export function Copy({ text, label = "Copy", small }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch { // not in a secure context: a server without TLS on another machine
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class=${small ? "button small quiet" : undefined} onClick=${copy} aria-label=${label}><span aria-live="polite">${done ? "Copied" : "Copy"}</span></button>`;
}

export const Search = ({ value, onInput, label, placeholder }) => html`
  <input type="search" value=${value} placeholder=${placeholder ?? label} aria-label=${label} onInput=${(event) => onInput(event.currentTarget.value)} spellcheck=${false} autocomplete="off" />`;

// ---- windows

/** A window above the page; Escape and a click beside it close it. */
export function Dialog({ title, onClose, children, onSubmit, footer }) {
  const here = useRef(null);
  const name = useId();
  useEffect(() => {
    const dialog = here.current;
    dialog.showModal();
    return () => dialog.open && dialog.close();
  }, []);
  return html`<dialog ref=${here} aria-labelledby=${name} onClose=${onClose} onClick=${(event) => event.target === here.current && onClose()}>
    <form method="dialog" class="form" onSubmit=${(event) => { event.preventDefault(); onSubmit?.(); }}>
      <h2 id=${name}>${title}</h2>${children}<footer>${footer}</footer>
    </form></dialog>`;
}

// ---- icons

const PATHS = {
  sun: "M8 4.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1.100 1.100M11.900 11.900 13 13M3 13l1.100-1.100M11.900 4.100 13 3",
  moon: "M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7z",
  out: "M6.500 2.500h-4v11h4M10.500 5l3 3-3 3M13.500 8h-8",
  plus: "M8 3v10M3 8h10", minus: "M3 8h10", fit: "M2.500 6v-3.500h3.500M10 2.500h3.500v3.500M13.500 10v3.500H10M6 13.500H2.500V10",
  close: "M3.500 3.500l9 9M12.500 3.500l-9 9",
};
export const Icon = ({ name }) => html`<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"><path d=${PATHS[name]} /></svg>`;
