// What every module draws with.
import htm from "./htm.js";
import { h } from "./preact.js";
export { Fragment, render } from "./preact.js";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./hooks.js";

export const html = htm.bind(h);
