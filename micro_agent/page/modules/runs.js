// The runs on record and under way: searched, filtered, page by page; and a question to ask.
import { events, get, report } from "./api.js";
import { Badge } from "./show.js";
import { html, useEffect, useRef, useState } from "./ui.js";
import { count, line, moment } from "./words.js";

const PAGE = 50;
const TYPING_MS = 250;
const STATUSES = [
  ["", "Any status"], ["running", "Running"], ["confirmation_required", "Waiting"], ["completed", "Completed"],
  ["stopped", "Stopped"], ["failed", "Failed"], ["unreadable", "Unreadable"],
];

// What is looked for stands in the address, so that "back" finds it again.
function asked(query) {
  const given = new URLSearchParams(query);
  return { q: given.get("q") || "", status: given.get("status") || "" };
}

export function RunsPage({ query }) {
  const { q, status } = asked(query);
  const [runs, setRuns] = useState([]);
  const [next, setNext] = useState(null);
  const [busy, setBusy] = useState(true);
  const turn = useRef(null);

  const load = async (cursor) => {
    turn.current?.abort();
    const mine = (turn.current = new AbortController());
    setBusy(true);
    let found = cursor ? runs : [];
    let place = cursor;
    const most = found.length + PAGE;
    try {
      do {
        const wanted = new URLSearchParams({ limit: most - found.length, ...(q && { q }), ...(status && { status }), ...(place && { cursor: place }) });
        const page = await get(`/runs?${wanted}`, mine.signal);
        found = [...found, ...page.runs];
        place = page.next;
        setRuns(found);
        setNext(place);
      } while (place && found.length < most);
      setBusy(false);
    } catch (error) {
      if (error.name === "AbortError") return;
      setBusy(false);
      report(error);
    }
  };
  useEffect(() => {
    load(null);
    const again = () => { if (!document.hidden) load(null); };
    document.addEventListener("visibilitychange", again);
    return () => { document.removeEventListener("visibilitychange", again); turn.current?.abort(); };
  }, [q, status]);

  return html`<main>
    <h1 class="unseen">Runs</h1>
    <${Ask} />
    <${Filters} q=${q} status=${status} reload=${() => load(null)} />
    <ul class="rows" aria-busy=${busy}>${runs.map((run) => html`<${Row} key=${run.id} run=${run} />`)}</ul>
    <p class="quiet" role="status">${busy ? "Looking…" : `${count(runs.length)} run${runs.length === 1 ? "" : "s"}${next ? ", and more" : ""}`}</p>
    ${next && !busy && html`<p class="buttons"><button onClick=${() => load(next)}>Show more</button></p>`}
  </main>`;
}

function Row({ run }) {
  return html`<li><a href=${`#/run/${run.id}`}>
    <${Badge} of=${run.status} />
    <span class="main">${run.question === null ? run.id : line(run.question, 200)}</span>
    <span class="second">${run.damage || (run.answer === null ? run.termination_reason || "" : line(run.answer, 160))}</span>
    <time>${run.ts ? moment(run.ts) : ""}</time></a></li>`;
}

function Filters({ q, status, reload }) {
  const timer = useRef(0);
  const field = useRef(null);
  useEffect(() => { if (document.activeElement !== field.current) field.current.value = q; }, [q]);
  const go = (chosen) => {
    clearTimeout(timer.current);
    const words = field.current.value;
    const wanted = new URLSearchParams({ ...(words.trim() && { q: words.trim() }), ...(chosen && { status: chosen }) });
    location.hash = `#/?${wanted}`;
  };
  const typed = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => go(status), TYPING_MS);
  };
  return html`<form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
    <label><span class="unseen">Search</span><input type="search" placeholder="Search id, question, answer" ref=${field} onInput=${typed} /></label>
    <label><span class="unseen">Status</span><select value=${status} onChange=${(event) => go(event.target.value)}>
      ${STATUSES.map(([value, name]) => html`<option value=${value}>${name}</option>`)}</select></label>
    <button type="button" onClick=${reload}>Refresh</button>
  </form>`;
}

function Ask() {
  const [question, setQuestion] = useState("");
  const [busy, setBusy] = useState(false);
  const ask = async (event) => {
    event.preventDefault();
    if (!question.trim()) return;
    setBusy(true);
    const text = JSON.stringify({ question, on_disconnect: "continue" });
    const left = new AbortController();
    try {
      for await (const event of events("/ask/stream", { method: "POST", text, signal: left.signal })) {
        if (event.event === "started") { location.hash = `#/run/${JSON.parse(event.data).trace_id}`; break; }
      }
    } catch (error) {
      report(error);
    }
    left.abort();
    setBusy(false);
  };
  return html`<form class="ask" onSubmit=${ask}>
    <label><span class="unseen">Question</span><input placeholder="Ask a question" value=${question} onInput=${(event) => setQuestion(event.target.value)} /></label>
    <button class="main" disabled=${busy}>Ask</button>
  </form>`;
}
