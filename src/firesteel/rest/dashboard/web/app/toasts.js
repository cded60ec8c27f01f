// Short messages that go by themselves, and stay where somebody has to read them.
import { html, useEffect, useState } from "./html.js";
import { Alert, Icon } from "./parts.js";

let add = () => {};
let number = 0;

/** @param kind good, bad or warn. One that is bad stays until it is closed. */
export function tell(kind, content) {
  add({ id: ++number, kind, content });
}

export function Toasts() {
  const [all, setAll] = useState([]);
  useEffect(() => {
    const drop = (id) => setAll((before) => before.filter((toast) => toast.id !== id));
    add = (toast) => {
      setAll((before) => [...before.slice(-3), toast]);
      if (toast.kind !== "bad") setTimeout(() => drop(toast.id), 8000);
    };
    return () => {
      add = () => {};
    };
  }, []);
  return html`<div class="toasts">${all.map((toast) => html`
    <${Alert} key=${toast.id} kind=${toast.kind}><div class="row spread"><span>${toast.content}</span>
      <button class="button small icon" type="button" aria-label="Close the message" onClick=${() => setAll((before) => before.filter((t) => t.id !== toast.id))}><${Icon} name="close" /></button></div><//>`)}</div>`;
}
