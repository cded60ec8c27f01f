// Where the user is: what comes after # in the address. Links that were made for Flink's dashboard lead to the same.
import { useEffect, useState } from "./html.js";

const FLINK = [
  [/^job\/(?:running|completed)\/([0-9a-f]{32})/, "job/$1"],
  [/^job-manager\/(config|metrics|logs|log|stdout|profiler)/, (_, page) => `driver/${{ log: "logs", stdout: "logs", profiler: "threads" }[page] ?? page}`],
  [/^job-manager/, "driver"],
  [/^task-manager\/([^/]+)\/.*/, "workers/$1"],
  [/^task-manager/, "workers"],
  [/^(?:applications?|job\/(?:running|completed))(?:\/overview)?$/, "jobs"],
  [/^overview$/, "jobs"],
];

export function parts(hash = location.hash) {
  let path = hash.replace(/^#\/?/, "").replace(/\/$/, "");
  for (const [from, to] of FLINK) path = path.replace(from, to);
  return (path || "jobs").split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

export const link = (...found) => `#/${found.filter((part) => part != null).map(encodeURIComponent).join("/")}`;

export function go(...found) {
  location.hash = link(...found).slice(1);
}

export function useParts() {
  const [found, setFound] = useState(parts());
  useEffect(() => {
    const moved = () => setFound(parts());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return found;
}
