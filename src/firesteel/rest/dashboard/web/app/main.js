// The frame of all pages: who uses it, where they are, and the page itself.
import { get, onUnknown, root, send } from "./api.js";
import { html, render, useEffect, useRef, useState } from "./html.js";
import { setInterval_ } from "./live.js";
import { Alert, Icon, Nothing } from "./parts.js";
import { link, useParts } from "./router.js";
import { Toasts } from "./toasts.js";
import { Driver } from "./pages/driver.js";
import { Job } from "./pages/job.js";
import { Jobs } from "./pages/jobs.js";
import { Login } from "./pages/login.js";
import { Submit } from "./pages/submit.js";
import { Worker, Workers } from "./pages/workers.js";

const PAGES = { jobs: Jobs, job: Job, workers: Workers, worker: Worker, driver: Driver, submit: Submit };

// ---- light and dark: as the system has it, until somebody chooses

const chosen = () => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null; // a browser that keeps nothing
  }
};
const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";

function useTheme() {
  const [, again] = useState(0);
  useEffect(() => {
    const changed = () => again((n) => n + 1);
    dark.addEventListener("change", changed);
    return () => dark.removeEventListener("change", changed);
  }, []);
  const turn = () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("theme", theme);
    } catch { /* until the page is closed, then */ }
    dispatchEvent(new Event("themechange"));
    again((n) => n + 1);
  };
  return [isDark(), turn];
}

// ---- the frame

function App() {
  const parts = useParts();
  const [isDarkNow, turnTheme] = useTheme();
  const [session, setSession] = useState(null);
  const [config, setConfig] = useState(null);
  const [problem, setProblem] = useState(null);
  const main = useRef(null);
  const begin = async () => {
    try {
      const found = await get("firesteel/v1/session");
      setSession(found);
      if (found.role) {
        const known = await get("config");
        setInterval_(known["refresh-interval"]);
        setConfig(known);
      }
      setProblem(null);
    } catch (error) {
      setProblem(error.message);
      setTimeout(begin, 3000);
    }
  };
  useEffect(() => {
    begin();
    return onUnknown(() => setSession((before) => before && { ...before, role: null, ended: true }));
  }, []);
  const page = parts[0] === "workers" && parts[1] ? "worker" : parts[0];
  useEffect(() => {
    scrollTo(0, 0);
  }, [parts[0], parts[1]]);
  if (!session) return html`<div class="boot">${problem ? html`<${Alert} kind="bad">${problem}<//>` : "Loading the dashboard ..."}</div>`;
  if (!session.role) return html`<${Login} session=${session} onDone=${begin} />`;
  if (!config) return html`<div class="boot">Loading the dashboard ...</div>`;
  const Page = PAGES[page];
  const features = config.features;
  const places = [
    ["jobs", "Jobs", ["jobs", "job"]],
    ["workers", "Task managers", ["workers", "worker"]],
    ["driver", "Driver", ["driver"]],
    ...(features["web-submit"] ? [["submit", "Submit", ["submit"]]] : []),
  ];
  const logOut = async () => {
    await send("DELETE", "firesteel/v1/session");
    begin();
  };
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>Skip to the page</a>
    <header class="bar">
      <a class="brand" href=${link("jobs")}><img src=${`${new URL("icon.svg", document.baseURI)}`} alt="" />Firesteel</a>
      <nav aria-label="Pages">${places.map(([key, name, of]) => html`<a key=${key} href=${link(key)} aria-current=${of.includes(page) ? "page" : undefined}>${name}</a>`)}</nav>
      <div class="side">
        ${session.auth !== "none" && html`<span class="soft wide-only">${session.name || (({ read: "may look", operate: "may operate", submit: "may run programs" })[session.role])}</span>
          <button class="button icon small" type="button" onClick=${logOut} aria-label="Log out" title="Log out"><${Icon} name="out" /></button>`}
        <button class="button icon small" type="button" onClick=${turnTheme} aria-label=${isDarkNow ? "Light colours" : "Dark colours"} title=${isDarkNow ? "Light colours" : "Dark colours"}><${Icon} name=${isDarkNow ? "sun" : "moon"} /></button>
      </div>
    </header>
    <main id="main" ref=${main} tabindex="-1">
      ${Page ? html`<${Page} parts=${parts.slice(1)} config=${config} session=${session} />` : html`<div class="card"><${Nothing} title="There is no such page"><p><a href=${link("jobs")}>All jobs</a></p><//></div>`}
    </main>
    <footer class="foot"><span>Firesteel ${session.version}</span><span>REST API of Flink ${config["flink-version"]}</span>
      <a href=${`${root}firesteel/v1/openapi.json`}>OpenAPI</a>${session.flink_ui && html`<a href=${root}>Flink's dashboard</a>`}</footer>
    <${Toasts} />`;
}

const theme = chosen();
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
const app = document.getElementById("app");
app.replaceChildren();
render(html`<${App} />`, app);
