// What pages are written with: markup as text of JavaScript, which Preact makes into elements. Whatever is put
// into it by ${...} becomes text or an attribute, never markup.
import htm from "../vendor/htm.js";
import { createElement } from "../vendor/preact.js";

export const html = htm.bind(createElement);
export { Fragment, render } from "../vendor/preact.js";
export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef, useState } from "../vendor/preact-hooks.js";
