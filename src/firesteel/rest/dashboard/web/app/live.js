// Pages that follow what happens: they ask again every few seconds, and at once when the server tells of an event.
import { get, root } from "./api.js";
import { useCallback, useEffect, useRef, useState } from "./html.js";

const SOON = 250;
let every = 3000;

/** The interval of `/config`. */
export function setInterval_(ms) {
  every = Math.max(500, ms);
}

/**
 * An answer that is asked for again and again. What was there stays while the next one is on its way, and when
 * it does not come: `error` says why then.
 * @param read a function of an AbortSignal; null: nothing is asked.
 * @param keys what the answer is of; another one begins anew.
 */
export function useLive(read, keys, interval = every) {
  const [state, setState] = useState({ keys: null, data: null, error: null, at: 0 });
  const again = useRef(() => {});
  const key = JSON.stringify(keys);
  useEffect(() => {
    if (!read) return undefined;
    const control = new AbortController();
    let timer = 0;
    let ended = false;
    let asking = false;
    let wanted = false; // once more, as soon as the answer under way is there
    const ask = async () => {
      clearTimeout(timer);
      if (asking) {
        wanted = true;
        return;
      }
      asking = true;
      wanted = false;
      try {
        const data = await read(control.signal);
        if (!ended) setState({ keys: key, data, error: null, at: Date.now() });
      } catch (error) {
        if (ended || error.name === "AbortError") return;
        setState((before) => ({ ...before, keys: key, data: before.keys === key ? before.data : null, error }));
      } finally {
        asking = false;
      }
      if (ended) return;
      if (wanted) timer = setTimeout(ask, SOON);
      else if (interval) timer = setTimeout(later, interval);
    };
    // A page that nobody looks at asks nothing.
    const later = () => (document.hidden ? (timer = setTimeout(later, interval)) : ask());
    const seen = () => document.hidden || (interval && ask());
    again.current = ask;
    ask();
    document.addEventListener("visibilitychange", seen);
    return () => {
      ended = true;
      clearTimeout(timer);
      control.abort();
      document.removeEventListener("visibilitychange", seen);
    };
  }, [key, interval]);
  const mine = state.keys === key;
  const refresh = useCallback(() => again.current(), []);
  return { data: mine ? state.data : null, error: mine ? state.error : null, at: state.at, refresh };
}

export const useGet = (path, interval) => useLive(path ? (signal) => get(path, signal) : null, [path], interval);

/** Events of a job as they happen. The browser goes on where it was when the connection was lost. */
export function useEvents(job, onEvent) {
  const [events, setEvents] = useState([]);
  const call = useRef(onEvent);
  call.current = onEvent;
  useEffect(() => {
    setEvents([]);
    if (!job) return undefined;
    const source = new EventSource(`${root}firesteel/v1/jobs/${job}/events`);
    let pending = [];
    let timer = 0;
    const flush = () => {
      const added = pending;
      pending = [];
      timer = 0;
      setEvents((before) => [...before, ...added].slice(-500));
      call.current?.(added);
    };
    const take = (event) => {
      pending.push({ id: Number(event.lastEventId), kind: event.type, ...JSON.parse(event.data) });
      timer ||= setTimeout(flush, 80);
    };
    for (const kind of KINDS) source.addEventListener(kind, take);
    let over = false;
    source.addEventListener("error", () => over && source.close()); // else the browser would ask again and again
    source.addEventListener("End", (event) => {
      over = true;
      call.current?.([{ kind: "End", ...JSON.parse(event.data) }]);
    });
    return () => {
      clearTimeout(timer);
      source.close();
    };
  }, [job]);
  return events;
}

const KINDS = ["StatusChanged", "ExceptionRaised", "RestartPlanned", "AttemptStarted", "CheckpointCompleted", "CheckpointFailed", "CommandReceived"];
