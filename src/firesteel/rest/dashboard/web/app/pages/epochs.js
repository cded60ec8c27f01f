// Epochs over time: when each ran, how long it took, how many records it read.
import { count, duration, exact, rate, short, time } from "../format.js";
import { html, useState } from "../html.js";
import { useGet } from "../live.js";
import { Card, Figure, Figures, Loaded, Nothing, Segments, Table } from "../parts.js";

const COUNTS = [[60, "60"], [240, "240"], [1000, "1,000"]];

export function Epochs({ id }) {
  const [last, setLast] = useState(60);
  const found = useGet(`firesteel/v1/jobs/${id}/epochs?last=${last}`);
  return html`<${Loaded} of=${found} lines=${8}>${({ epochs }) => {
    if (!epochs.length) return html`<div class="card"><${Nothing} title="No epoch has ended yet"><p>A job runs as a row of epochs. Each reads what is there, is processed whole and is committed whole.</p><//></div>`;
    const elapsed = epochs.map((epoch) => epoch.elapsed_ms).sort((a, b) => a - b);
    const records = epochs.reduce((all, epoch) => all + epoch.records, 0);
    const worked = epochs.reduce((all, epoch) => all + epoch.elapsed_ms, 0);
    const span = Math.max(1, epochs.at(-1).started_ms + epochs.at(-1).elapsed_ms - epochs[0].started_ms);
    const again = epochs.filter((epoch) => epoch.attempts > 1).length;
    return html`<div class="stack">
      <${Figures} label=${`The newest ${epochs.length} epochs`}>
        <${Figure} name="Median" value=${duration(elapsed[elapsed.length >> 1])} note=${`of ${count(epochs.length)} epochs`} />
        <${Figure} name="95 % took at most" value=${duration(elapsed[Math.min(elapsed.length - 1, Math.floor(elapsed.length * 0.95))])} note=${`the longest ${duration(elapsed.at(-1))}`} />
        <${Figure} name="Records each" value=${short(records / epochs.length)} note="on average" />
        <${Figure} name="Processed" value=${short((records * 1000) / Math.max(1, worked))} unit="records/s" note="while an epoch runs" />
        <${Figure} name="At work" value=${`${Math.min(100, Math.round((worked / span) * 100))} %`} note="of the time; else it waits" />
        <${Figure} name="Tried again" value=${count(again)} note="epochs" />
      <//>
      <${Card} title="Over time" side=${html`<${Segments} label="How many epochs" options=${COUNTS} value=${last} onPick=${setLast} />`}><${Strip} epochs=${epochs} /><//>
      <${Card} title="Epochs" flush><${Table} label="Epochs" columns=${COLUMNS} rows=${[...epochs].reverse()} id=${(epoch) => epoch.epoch} most=${12} /><//>
    </div>`;
  }}<//>`;
}

const COLUMNS = [
  { key: "epoch", name: "Epoch", by: (e) => e.epoch, cell: (e) => count(e.epoch) },
  { key: "started", name: "Began", number: true, by: (e) => e.started_ms, cell: (e) => html`<span title=${exact(e.started_ms)}>${time(e.started_ms)}</span>` },
  { key: "elapsed", name: "Took", number: true, by: (e) => e.elapsed_ms, cell: (e) => duration(e.elapsed_ms) },
  { key: "overhead", name: "Overhead", number: true, by: (e) => e.overhead_ms ?? -1, cell: (e) => html`<span title="beside the work on records: planning, scheduling, the exchange, the commit">${duration(e.overhead_ms)}</span>` },
  { key: "records", name: "Records", number: true, by: (e) => e.records, cell: (e) => count(e.records) },
  { key: "rate", name: "Processed", number: true, by: (e) => e.records / e.elapsed_ms, cell: (e) => rate((e.records * 1000) / Math.max(1, e.elapsed_ms)) },
  { key: "attempts", name: "Attempts", number: true, by: (e) => e.attempts, cell: (e) => (e.attempts > 1 ? html`<span class="state warn">${e.attempts}</span>` : e.attempts) },
];

/** Each epoch where and as wide as it was in time, as high as the records that it read. */
function Strip({ epochs }) {
  const [at, setAt] = useState(null);
  const begin = epochs[0].started_ms;
  const end = Math.max(epochs.at(-1).started_ms + epochs.at(-1).elapsed_ms, begin + 1);
  const most = Math.max(1, ...epochs.map((epoch) => epoch.records));
  const x = (ms) => ((ms - begin) / (end - begin)) * 1000;
  const shape = (again) => epochs.filter((e) => e.attempts > 1 === again).map((e) => {
    const width = Math.max(1.2, x(e.started_ms + e.elapsed_ms) - x(e.started_ms) - 0.5);
    return `M${x(e.started_ms).toFixed(2)} 120v${(-Math.max(2, (e.records / most) * 112)).toFixed(2)}h${width.toFixed(2)}V120z`;
  }).join("");
  const near = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const ms = begin + ((event.clientX - box.left) / box.width) * (end - begin);
    setAt(epochs.reduce((best, e) => (Math.abs(e.started_ms + e.elapsed_ms / 2 - ms) < Math.abs(best.started_ms + best.elapsed_ms / 2 - ms) ? e : best)));
  };
  const shown = at && epochs.includes(at) ? at : epochs.at(-1);
  return html`<figure class="strip epochs">
    <svg viewBox="0 0 1000 120" preserveAspectRatio="none" role="img" aria-label=${`${epochs.length} epochs from ${time(begin)} to ${time(end)}`} onMouseMove=${near} onMouseLeave=${() => setAt(null)}>
      <path class="bars" d=${shape(false)} /><path class="bars above" d=${shape(true)} />
      ${at && html`<rect class="mark" x=${x(shown.started_ms)} y="0" width=${Math.max(1.5, x(shown.started_ms + shown.elapsed_ms) - x(shown.started_ms))} height="120" />`}</svg>
    <figcaption class="row spread soft"><span>${time(begin)}</span><span>epoch ${count(shown.epoch)}: <b>${count(shown.records)}</b> records in <b>${duration(shown.elapsed_ms)}</b></span><span>${time(end)}</span></figcaption>
  </figure>`;
}
