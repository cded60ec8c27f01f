// Requests to the server. Paths are relative to it, wherever the pages are, so a proxy may put it anywhere.
const page = new URL(".", document.baseURI).href;
export const root = page.replace(/firesteel\/dashboard\/$/, "");

export class ApiError extends Error {
  constructor(status, texts) {
    super(texts[0] ?? `The server answered ${status}.`);
    this.status = status;
    this.texts = texts;
  }
}

const listeners = new Set();

/** Calls back when the server asks for credentials. */
export function onUnknown(call) {
  listeners.add(call);
  return () => listeners.delete(call);
}

async function answerTo(path, { method = "GET", body, form, signal } = {}) {
  const request = { method, signal, credentials: "same-origin", headers: { accept: "application/json" } };
  if (form) request.body = form;
  if (body !== undefined) {
    request.body = JSON.stringify(body);
    request.headers["content-type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(root + path, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, ["The server does not answer. It ends with the program that it belongs to; this page goes on when it is there again."]);
  }
  if (answer.ok) return answer;
  const text = await answer.text();
  let texts = [];
  try {
    texts = JSON.parse(text).errors ?? [];
  } catch { /* not of our server: a proxy's page, of which nothing is shown */ }
  if (answer.status === 401) for (const call of listeners) call();
  // The second text of an internal error says what happened.
  throw new ApiError(answer.status, texts[0] === "Internal server error." ? texts.slice(1).concat(texts[0]) : texts);
}

export const get = async (path, signal) => (await answerTo(path, { signal })).json();
export const text = async (path, signal) => (await answerTo(path, { signal })).text();
export const send = async (method, path, body) => (await answerTo(path, { method, body })).json();
export const upload = async (path, form) => (await answerTo(path, { method: "POST", form })).json();

/** Whether the server has a path: 404 is an answer, too. */
export async function optional(path, signal) {
  try {
    return await get(path, signal);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/** What came of a command that takes its time, once it is over. */
export async function completed(path, every = 700) {
  for (;;) {
    const found = await get(path);
    if (found.status.id === "COMPLETED") return found.operation ?? {};
    await new Promise((done) => setTimeout(done, every));
  }
}
