// A line as small as a word.
import { html } from "./html.js";
import { short } from "./format.js";

export function Spark({ values, width = 96, height = 26 }) {
  const most = Math.max(...values, 1e-9);
  const step = width / (values.length - 1);
  const points = values.map((value, n) => `${(n * step).toFixed(1)} ${(height - 2 - (value / most) * (height - 4)).toFixed(1)}`);
  const line = `M${points.join("L")}`;
  return html`<svg class="spark" viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${`the last minutes: up to ${short(most)} per second`}>
    <path class="area" d=${`${line}L${width} ${height}L0 ${height}Z`} /><path d=${line} /></svg>`;
}
