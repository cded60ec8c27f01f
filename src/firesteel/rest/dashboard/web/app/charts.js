// Charts over time, by uPlot. Their colours are those of the page, so they are drawn anew when those change.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { time } from "./format.js";

const colour = (name) => {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

const two = (number) => String(number).padStart(2, "0");
const powers = Array.from({ length: 50 }, (_, n) => 2 ** n); // steps of sizes in bytes

/** The time of day; the day where it begins. */
function ticksOf(_, ticks) {
  const seconds = ticks.length > 1 && ticks[1] - ticks[0] < 60;
  let day = "";
  return ticks.map((tick) => {
    const date = new Date(tick * 1000);
    const today = date.toDateString();
    const shown = `${two(date.getHours())}:${two(date.getMinutes())}${seconds ? `:${two(date.getSeconds())}` : ""}`;
    const first = day && day !== today;
    day = today;
    return first ? `${date.getDate()}.${date.getMonth() + 1}.` : shown;
  });
}

/**
 * A chart with a legend that says the values under the cursor, or the newest ones.
 * @param times in milliseconds; @param lines `[{name, values, shown}]`, all of one unit.
 * @param sizes whether the values are bytes.
 */
export function Chart({ title, times, lines, height = 150, sizes = false }) {
  const here = useRef(null);
  const plot = useRef(null);
  const [theme, setTheme] = useState(0);
  const [at, setAt] = useState(null);
  useEffect(() => {
    const changed = () => setTheme((n) => n + 1);
    const query = matchMedia("(prefers-color-scheme: dark)");
    addEventListener("themechange", changed);
    query.addEventListener("change", changed);
    return () => {
      removeEventListener("themechange", changed);
      query.removeEventListener("change", changed);
    };
  }, []);
  const names = lines.map((line) => line.name).join("\n");
  const data = [times.map((ms) => ms / 1000), ...lines.map((line) => line.values)];
  useLayoutEffect(() => {
    const [{ shown }] = lines;
    const grid = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: colour("--faint"), grid, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const made = new window.uPlot({
      width: here.current.clientWidth || 300,
      height,
      padding: [8, 12, 0, 4],
      legend: { show: false },
      cursor: { y: false, points: { size: 7 } },
      scales: { y: { range: (_, least, most) => [Math.min(0, least), most > 0 ? most * 1.1 : 1] } },
      axes: [{ ...axis, space: 72, size: 26, values: ticksOf }, { ...axis, size: 64, space: 34, incrs: sizes ? powers : undefined, values: (_, ticks) => ticks.map((tick) => shown(tick)) }],
      hooks: { setCursor: [(u) => setAt(u.cursor.idx ?? null)] },
      series: [
        {},
        ...lines.map((line, n) => ({
          stroke: colour(`--chart-${(n % 4) + 1}`),
          dash: n >= 4 ? [5, 4] : undefined,
          width: 1.75,
          fill: lines.length === 1 ? colour("--chart-1").replace("rgb(", "rgba(").replace(")", ", 0.10)") : undefined,
          points: { show: times.length < 3 },
        })),
      ],
    }, data, here.current);
    plot.current = made;
    const seen = new ResizeObserver(() => here.current && made.setSize({ width: here.current.clientWidth, height }));
    seen.observe(here.current);
    return () => {
      seen.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [theme, names, height]);
  useEffect(() => {
    // A range that was drawn with the mouse stays; a double click shows all again.
    const made = plot.current;
    if (!made) return;
    const all = made.data[0];
    const zoomed = all.length > 1 && (made.scales.x.min > all[0] + 0.001 || made.scales.x.max < all.at(-1) - 0.001);
    made.setData(data, !zoomed);
  }, [times.at(-1), times.length, names]);
  const n = at != null && at < times.length ? at : null;
  const value = (line) => line.shown(n == null ? line.values.findLast((v) => v != null) ?? null : line.values[n]);
  return html`<figure class="chart" aria-label=${`${title}. Newest: ${lines.map((line) => `${line.name}: ${value(line)}`).join(", ")}`}>
    <figcaption><h3>${title}</h3><span class="soft">${n == null ? "" : time(times[n])}</span>
      <ul>${lines.map((line, k) => html`<li key=${line.name} class=${`line-${k % 4} ${k >= 4 ? "dashed" : ""}`}>${lines.length > 1 && html`<span>${line.name}</span>`}<b>${value(line)}</b></li>`)}</ul></figcaption>
    <div ref=${here} role="presentation" /></figure>`;
}
