// One run, as it stands and as it goes on.
import { events, Failed, get, post, report, tell } from "./api.js";
import { Decide } from "./decide.js";
import { RunView } from "./show.js";
import { html, useEffect, useRef, useState } from "./ui.js";
import { line } from "./words.js";

const BLOCK = 500; // items asked for at once
const LOOK_MS = 2000; // between two looks at what no event tells of
const REST_MS = 300; // at least, between two looks at one that is
const SHARE = 4; // a look at a long run takes its time: at most a fifth of all is spent on looking
const WHOLE = 1e8; // characters of a text that is wanted whole
const DRAFT = 4000; // characters of an answer that is being written

export function RunPage({ id }) {
  const [run, setRun] = useState(null);
  const [draft, setDraft] = useState("");
  const [lost, setLost] = useState(false);
  const items = useRef([]);
  const asked = useRef(new Set());
  const wake = useRef(() => {});
  const gone = useRef(null);

  const load = async (first, count = BLOCK, longest = 4000) => {
    const shown = await get(`/runs/${id}/view?first=${first}&count=${count}&longest=${longest}`, gone.current.signal);
    shown.items.forEach((item, i) => { items.current[first + i] = item; });
    setRun({ ...shown, items: null });
    return shown;
  };
  const need = (i) => {
    const first = i - (i % BLOCK);
    if (asked.current.has(first)) return;
    asked.current.add(first);
    load(first).catch(report);
  };
  const whole = (i) => load(i, 1, WHOLE).catch(report);
  const all = () => load(0, 0, WHOLE).catch(report);

  useEffect(() => {
    gone.current = new AbortController();
    items.current = [];
    asked.current = new Set([0]);
    setRun(null);
    setDraft("");
    setLost(false);
    watch(id, gone.current.signal, load, setDraft, (call) => { wake.current = call; }).catch((error) => { setLost(true); report(error); });
    return () => gone.current.abort();
  }, [id]);

  useEffect(() => { if (run) document.title = line(run.question, 60); }, [run && run.id]);
  if (!run) return html`<main><p class="alone" role="status">${lost ? "This run cannot be shown." : "Loading…"}</p></main>`;
  const act = (what) => {
    post(`/runs/${id}/${what}`, "{}", gone.current.signal).then(() => wake.current(), report);
    setTimeout(() => wake.current(), 150);
  };
  const left = run.open && !run.busy && (run.status === "running" || run.confirmation?.decision);
  return html`<main><${RunView} key=${id} run=${run} item=${(i) => items.current[i]} need=${need} whole=${whole} all=${all} linked>
    ${draft && html`<section class="answer"><h2>Being written</h2><pre>${draft}</pre></section>`}
    ${run.open && run.confirmation && html`<${Decide} run=${run} question=${run.confirmation} wake=${() => wake.current()} />`}
    ${run.open && html`<p class="buttons">
      ${run.busy && run.status === "running" && html`<button onClick=${() => act("cancel")}>Cancel the run</button>`}
      ${left && html`<button onClick=${() => act("resume")}>Resume</button>`}
      ${expired(run) && html`<button onClick=${() => act("resume")}>Ask anew</button>`}</p>`}
  <//></main>`;
}

function expired(run) {
  const until = run.confirmation && !run.busy && run.confirmation.expires;
  return until && Date.parse(until) < Date.now();
}

// Follow a run until it has ended: by its events where this server has it under way, else by looking again.
async function watch(id, signal, load, setDraft, onWake) {
  let woken = () => {};
  onWake(() => woken());
  const pause = (ms) => new Promise((resolve) => {
    woken = resolve;
    setTimeout(resolve, ms);
    signal.addEventListener("abort", resolve, { once: true });
  });
  let total = 0;
  let down = false;
  let rest = REST_MS;
  const look = async () => {
    const began = performance.now();
    const shown = await load(Math.max(0, total - (total % BLOCK)));
    total = shown.total;
    rest = Math.max(REST_MS, SHARE * (performance.now() - began));
    return shown;
  };
  while (!signal.aborted) {
    let shown = null;
    try {
      shown = await look();
      if (down) tell(null);
      down = false;
      if (!shown.open) { setDraft(""); return; }
      if (shown.status === "running") await follow(id, signal, look, setDraft, () => pause(rest));
    } catch (error) {
      if (signal.aborted) return;
      if (error.code !== "not_under_way") {
        if (!shown && error.status < 500) throw error; // not there, or not for this token: another look changes nothing
        report(error);
        down = true;
      }
    }
    await pause(shown && shown.status === "running" ? rest : LOOK_MS);
    while (document.hidden && !signal.aborted) await pause(LOOK_MS);
  }
}

async function follow(id, signal, look, setDraft, pause) {
  let looking = null;
  let news = false;
  const again = () => {
    news = true;
    looking ||= (async () => {
      while (news && !signal.aborted) { news = false; await look(); await pause(); }
      looking = null;
    })().catch(report);
  };
  // A browser has six connections for all tabs: one that nobody sees keeps none.
  const hidden = new AbortController();
  const leave = () => { if (document.hidden) hidden.abort(); };
  document.addEventListener("visibilitychange", leave);
  const timer = setInterval(again, LOOK_MS); // no event tells of a reply: its step may come much later
  let text = "";
  try {
    for await (const event of events(`/runs/${id}/events`, { signal: AbortSignal.any([signal, hidden.signal]) })) {
      if (event.event === "text") { text += JSON.parse(event.data).text; setDraft(text.slice(-DRAFT)); }
      else { text = ""; setDraft(""); if (event.event === "step") again(); }
    }
  } catch (error) {
    if (!hidden.signal.aborted) throw error;
  } finally {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", leave);
  }
  if (looking) await looking;
}
