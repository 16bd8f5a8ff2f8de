// A list of any length, of which only what is near the window is drawn: rows are as high as they are measured to be.
import { Body, heading } from "./items.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./ui.js";

const ROW = 30; // pixels of a closed row until it is measured
const OPEN = 240; // of an open one
const AHEAD = 800; // pixels drawn above and below the window
const WHOLE = 120; // so many items are drawn all together
const OPENED = 40; // of so many all are open at first

function offsets(total, heights, isOpen) {
  const tops = new Float64Array(total + 1);
  for (let i = 0; i < total; i += 1) tops[i + 1] = tops[i] + (heights.get(i) || (isOpen(i) ? OPEN : ROW));
  return tops;
}

function at(tops, y) {
  let low = 0;
  let high = tops.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle] <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function Items({ total, item, need, whole }) {
  const box = useRef(null);
  const heights = useRef(new Map());
  const [opens] = useState(total <= OPENED);
  const [turned, turn] = useState(() => new Set());
  const [range, setRange] = useState([0, Math.min(total, WHOLE)]);
  const [, measured] = useState(0);
  const focus = useRef(null);
  const isOpen = (i) => opens !== turned.has(i);
  const tops = offsets(total, heights.current, isOpen);
  const [first, last] = total <= WHOLE ? [0, total] : [Math.min(range[0], total), Math.min(range[1], total)];

  const look = () => {
    if (!box.current || total <= WHOLE) return;
    const y = -box.current.getBoundingClientRect().top;
    const from = at(tops, Math.max(0, y - AHEAD));
    const to = Math.min(total, at(tops, Math.max(0, y + innerHeight + AHEAD)) + 1);
    if (from !== range[0] || to !== range[1]) setRange([from, to]);
  };
  const looked = useRef(look);
  looked.current = look;
  useEffect(() => {
    const listen = () => looked.current();
    const resized = () => { heights.current.clear(); measured((n) => n + 1); };
    addEventListener("scroll", listen, { passive: true });
    addEventListener("resize", resized);
    return () => { removeEventListener("scroll", listen); removeEventListener("resize", resized); };
  }, []);

  useLayoutEffect(() => {
    let news = false;
    for (const row of box.current.children) {
      const i = Number(row.dataset.at);
      const height = row.getBoundingClientRect().height;
      if (heights.current.get(i) !== height) { heights.current.set(i, height); news = true; }
    }
    looked.current();
    if (news && total > WHOLE) measured((n) => n + 1);
    const wanted = focus.current !== null && box.current.querySelector(`[data-at="${focus.current}"] > button`);
    if (wanted) { focus.current = null; wanted.focus(); }
  });
  useEffect(() => { for (let i = first; i < last; i += 1) if (!item(i)) { need(i); break; } });

  const toggle = (i) => {
    heights.current.delete(i);
    turn((before) => { const next = new Set(before); if (!next.delete(i)) next.add(i); return next; });
  };
  const go = (i) => {
    const to = Math.max(0, Math.min(total - 1, i));
    const row = box.current.querySelector(`[data-at="${to}"] > button`);
    if (row) return row.focus();
    focus.current = to;
    return scrollTo(0, scrollY + box.current.getBoundingClientRect().top + tops[to] - innerHeight / 2);
  };
  const keys = (event) => {
    const row = event.target.closest("li");
    const moves = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    if (event.target.parentElement !== row || !(event.key in moves)) return;
    event.preventDefault();
    go(Number(row.dataset.at) + moves[event.key]);
  };

  const rows = [];
  for (let i = first; i < last; i += 1) {
    rows.push(html`<${Row} key=${i} at=${i} total=${total} item=${item(i)} open=${isOpen(i)} toggle=${toggle} whole=${whole} />`);
  }
  return html`<ol class="items" ref=${box} onKeyDown=${keys}
    style=${{ paddingTop: `${tops[first]}px`, paddingBottom: `${tops[total] - tops[last]}px` }}>${rows}</ol>`;
}

function Row({ at, total, item, open, toggle, whole }) {
  const { label, text, result, flag, bad, facts } = heading(item);
  return html`<li data-at=${at} class=${item ? item.kind + (item.marker ? " marker" : "") : ""} aria-posinset=${at + 1} aria-setsize=${total}>
    <button class="row" aria-expanded=${open} onClick=${() => toggle(at)}>
      <span class="label">${label}</span>
      <span class="brief">${open ? "" : html`${text}${result ? html`<span class="result"> → ${result}</span>` : null}`}</span>
      ${flag && html`<span class=${`flag ${bad ? "failed" : "mixed"}`}>${flag}</span>`}
      <span class="facts">${facts}</span>
    </button>
    ${open && html`<div class="body"><${Body} item=${item} whole=${whole && (() => whole(at))} /></div>`}
  </li>`;
}
