// The queue of patches of the repository that is served.
import { get, post, report, tell } from "./api.js";
import { Badge } from "./show.js";
import { Diff } from "./text.js";
import { html, useEffect, useState } from "./ui.js";
import { moment } from "./words.js";

function Waiting({ lost }) {
  return html`<main><p class="alone" role="status">${lost ? "This cannot be shown." : "Loading…"}</p></main>`;
}

export function PatchesPage() {
  const [queue, setQueue] = useState(null);
  const [lost, setLost] = useState(false);
  useEffect(() => { get("/patches").then(setQueue, (error) => { setLost(true); report(error); }); }, []);
  if (!queue) return html`<${Waiting} lost=${lost} />`;
  return html`<main><h1>Patches</h1><p class="quiet">${queue.repository || "No repository is served: start with serve --repo DIR."}</p>
    ${queue.damaged.map((path) => html`<p class="failed">${path} cannot be read.</p>`)}
    ${queue.repository && !queue.patches.length && html`<p>No patch was proposed.</p>`}
    <ul class="rows">${queue.patches.map((patch) => html`<li key=${patch.id}><a href=${`#/patches/${patch.id}`}>
      <${Badge} of=${patch.status} /><span class="main">${patch.intent}</span>
      <span class="second">${patch.files.join(", ")}</span><time>${moment(patch.times.proposed)}</time></a></li>`)}</ul></main>`;
}

export function PatchPage({ id }) {
  const [patch, setPatch] = useState(null);
  const [feedback, setFeedback] = useState("");
  const [busy, setBusy] = useState(false);
  const [lost, setLost] = useState(false);
  const load = () => get(`/patches/${id}`).then(setPatch, (error) => { setLost(true); report(error); });
  useEffect(() => { setPatch(null); setLost(false); load(); }, [id]);
  if (!patch) return html`<${Waiting} lost=${lost} />`;

  const act = async (what, body) => {
    setBusy(true);
    tell(null);
    try {
      setPatch(await post(`/patches/${id}/${what}`, JSON.stringify(body)));
    } catch (error) {
      report(error);
      await load();
    }
    setBusy(false);
  };
  const said = { seen: patch.status, sha256: patch.sha256 };
  const waits = ["proposed", "approved"].includes(patch.status);
  return html`<main><article>
    <p class="over"><${Badge} of=${patch.status} /> <code class="id">${patch.id}</code></p>
    <h1>${patch.intent}</h1>
    <ul class="facts">${Object.entries(patch.times).map(([status, time]) => html`<li>${status} ${moment(time)}</li>`)}</ul>
    ${patch.feedback && html`<p>Feedback: ${patch.feedback}</p>`}
    ${patch.repaired.length > 0 && html`<p class="mixed">Repaired: ${patch.repaired.join(", ")}</p>`}
    <${Diff} text=${patch.diff} />
    ${waits && html`<label>Reason for a rejection (optional) <input value=${feedback} onInput=${(event) => setFeedback(event.target.value)} /></label>`}
    <p class="buttons">
      ${waits && html`<button class="main" disabled=${busy} onClick=${() => act("apply", said)}>Approve and apply</button>
        <button disabled=${busy} onClick=${() => act("reject", { ...said, ...(feedback.trim() ? { feedback } : {}) })}>Reject</button>`}
      ${patch.status === "applied" && html`<button disabled=${busy} onClick=${() => act("undo", {})}>Undo</button>`}
    </p></article></main>`;
}
