// Who are you: the server asks for credentials. They go to it once, and a cookie comes back that no script reads.
import { send } from "../api.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { root } from "../api.js";
import { Alert } from "../parts.js";
import { go, parts } from "../router.js";

export function Login({ session, onDone }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const first = useRef(null);
  useEffect(() => first.current?.focus(), []);
  const submit = async (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.currentTarget));
    const form = event.currentTarget;
    setBusy(true);
    try {
      await send("POST", "firesteel/v1/session", fields);
      if (parts()[0] === "login" && session.flink_ui) {
        location.assign(root); // somebody came from there
        return;
      }
      if (parts()[0] === "login") go("jobs");
      onDone();
    } catch (problem) {
      setError(problem.message);
      form.querySelector("input[type=password]").value = "";
      first.current?.focus();
    } finally {
      setBusy(false);
    }
  };
  const basic = session.auth === "basic";
  return html`<main class="login"><form class="card form" onSubmit=${submit}>
    <img src="icon.svg" width="44" height="44" alt="" />
    <h1>Firesteel</h1>
    <p class="soft">${session.ended ? "Your session has ended. " : ""}${basic ? "Log in with your name and password." : "Log in with a token of this server."}</p>
    ${error && html`<${Alert} kind="bad">${error}<//>`}
    ${basic && html`<label class="field"><span>Name</span><input ref=${first} type="text" name="name" autocomplete="username" required /></label>`}
    <label class="field"><span>${basic ? "Password" : "Token"}</span><input ref=${basic ? undefined : first} type="password" name=${basic ? "password" : "token"} autocomplete="current-password" required /></label>
    <button class="button primary" disabled=${busy}>${busy ? "Checking ..." : "Log in"}</button>
  </form></main>`;
}
