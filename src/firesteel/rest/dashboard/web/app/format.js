// Numbers, sizes and times for people. What is not known is a dash.
export const NONE = "–";

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function count(value) {
  return value == null || Number.isNaN(value) ? NONE : plain.format(value);
}

/** 12,345 stays; 1,234,567 becomes 1.23 M. */
export function short(value) {
  if (value == null || Number.isNaN(value)) return NONE;
  for (const [size, unit] of [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e5, " k"]]) {
    if (Math.abs(value) >= size) return `${digits(value / (unit === " k" ? 1e3 : size))}${unit}`;
  }
  return Math.abs(value) < 10 && value % 1 ? value.toFixed(1) : plain.format(value);
}

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

export const rate = (value) => (value == null ? NONE : `${short(value)}/s`);

export function bytes(value) {
  if (value == null || value < 0 || Number.isNaN(value)) return NONE;
  for (const [size, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (value >= size) return `${digits(value / size)} ${unit}`;
  }
  return `${plain.format(value)} B`;
}

/** 87 ms, 4.2 s, 3 min 5 s, 2 h 10 min, 3 d 4 h. */
export function duration(ms) {
  if (ms == null || Number.isNaN(ms)) return NONE;
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 ? ` ${s % 60} s` : ""}`;
  if (s < 86400) return `${Math.floor(s / 3600)} h${Math.floor(s / 60) % 60 ? ` ${Math.floor(s / 60) % 60} min` : ""}`;
  return `${Math.floor(s / 86400)} d${Math.floor(s / 3600) % 24 ? ` ${Math.floor(s / 3600) % 24} h` : ""}`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit" });

/** The time, and the day unless it is today. */
export function time(ms) {
  if (ms == null || ms <= 0) return NONE;
  const date = new Date(ms);
  const today = day.format(date) === day.format(new Date());
  return today ? clock.format(date) : `${day.format(date)} ${clock.format(date)}`;
}

export const exact = (ms) => (ms == null || ms <= 0 ? "" : `${new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC")}`);
export const ago = (ms, now) => (ms == null ? NONE : `${duration(Math.max(0, now - ms))} ago`);
export const percent = (share) => (share == null ? NONE : `${Math.round(share * 100)} %`);
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
/** The name of a chain: an arrow is one character. */
export const chain = (name) => name.replaceAll(" -> ", " → ");
export const sum = (values) => values.reduce((a, b) => a + b, 0);

/** How event time stands: `{text, note}`. */
export function freshness(ended, freshnessMs, watermarkMs) {
  if (ended) return { text: "complete", note: "event time has ended" };
  if (freshnessMs == null) return { text: NONE, note: "no watermarks" };
  return { text: duration(freshnessMs), note: `up to ${time(watermarkMs)}` };
}
