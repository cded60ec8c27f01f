// Charts over time, by uPlot. Their colours are those of the page, so they are drawn anew when those change.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { exact } from "./format.js";

const colour = (name) => {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

/**
 * @param times in milliseconds; @param lines `[{name, values, shown, colour?}]`, all of one unit.
 * @param height in pixels.
 */
export function Chart({ title, times, lines, height = 170 }) {
  const here = useRef(null);
  const plot = useRef(null);
  const [theme, setTheme] = useState(0);
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
    const axis = { stroke: colour("--soft"), grid, ticks: { ...grid, size: 4 }, font: "11px system-ui, sans-serif" };
    const made = new window.uPlot({
      width: here.current.clientWidth || 300,
      height,
      legend: { live: true },
      cursor: { y: false, points: { size: 7 } },
      scales: { y: { range: (_, least, most) => [Math.min(0, least), most > 0 ? most * 1.1 : 1] } },
      axes: [{ ...axis, space: 70 }, { ...axis, size: 62, values: (_, ticks) => ticks.map((tick) => shown(tick)) }],
      series: [
        { value: (_, s) => (s == null ? "" : exact(s * 1000).slice(11, 19)), label: "at (UTC)" },
        ...lines.map((line, n) => ({
          label: line.name,
          stroke: colour(line.colour ?? `--chart-${(n % 4) + 1}`),
          dash: n >= 4 ? [5, 4] : undefined,
          width: 1.75,
          fill: lines.length === 1 ? colour("--chart-1").replace("rgb(", "rgba(").replace(")", ", 0.10)") : undefined,
          points: { show: times.length < 3 },
          spanGaps: false,
          value: (_, value) => (value == null ? "–" : line.shown(value)),
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
  });
  const last = lines.map((line) => `${line.name}: ${line.shown(line.values.findLast((value) => value != null) ?? null)}`).join(", ");
  return html`<div class="chart" role="img" aria-label=${`${title}. Newest: ${last}`} ref=${here} />`;
}
