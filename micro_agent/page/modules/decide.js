// The word of a person on the open question of a run. Of two tabs that decide, one wins, and the other is told.
import { Failed, post, report, tell } from "./api.js";
import { Asked } from "./show.js";
import { html, useEffect, useState } from "./ui.js";

const LOOK_MS = 150;
const REFUSED_MS = 10000;

export function Decide({ run, question, wake }) {
  const [feedback, setFeedback] = useState("");
  const [edited, setEdited] = useState(null);
  const [sent, setSent] = useState(null);
  useEffect(() => { setEdited(null); setSent(null); setFeedback(""); }, [question.sha256]);

  const say = async (decision, args = null) => {
    const more = { decision, sha256: question.sha256, ...(feedback.trim() ? { feedback } : {}) };
    // Arguments go as they were typed: a number that JavaScript cannot hold stays what it is.
    const text = args === null ? JSON.stringify(more) : `${JSON.stringify(more).slice(0, -1)},"args":${args}}`;
    // The answer comes when the run has ended, a refusal at once: no connection is kept for the former.
    const left = new AbortController();
    setTimeout(() => left.abort(), REFUSED_MS);
    setSent(decision);
    tell(null);
    setTimeout(wake, LOOK_MS);
    try {
      await post(`/runs/${run.id}/confirm`, text, left.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      setSent(null);
      if (error instanceof Failed && ["already_decided", "not_waiting"].includes(error.code)) {
        tell(`Not counted: somebody else was first. ${error.message}`);
      } else report(error);
    }
    wake();
  };
  const change = () => {
    try {
      JSON.parse(edited);
    } catch (error) {
      tell(`The arguments are not JSON: ${error.message}`);
      return;
    }
    say("approve", edited);
  };
  if (question.decision) {
    return html`<section class="question"><h2>Decided: ${question.decision}</h2><${Asked} question=${question} /></section>`;
  }
  const closed = sent !== null || question.sha256 === null;
  return html`<section class="question" aria-label="Open question">
    <h2>Waiting for your decision</h2>
    <${Asked} question=${question} />
    ${question.sha256 === null && html`<p class="mixed">A secret in it is masked here, so it cannot be decided here: use <code>micro-agent approve ${run.id}</code>.</p>`}
    ${edited !== null && html`<label>Arguments to use instead, as JSON. You are asked once more about the edited call.
      <textarea rows=${Math.min(24, edited.split("\n").length + 1)} spellcheck="false" value=${edited}
        onInput=${(event) => setEdited(event.target.value)} /></label>`}
    <label>Message to the model (optional) <input value=${feedback} onInput=${(event) => setFeedback(event.target.value)} /></label>
    <p class="buttons">
      ${edited === null && html`<button class="main" disabled=${closed} onClick=${() => say("approve")}>Approve</button>`}
      ${edited !== null && html`<button class="main" disabled=${closed} onClick=${change}>Check edited arguments</button>`}
      <button disabled=${closed} onClick=${() => say("reject")}>Reject</button>
      <button disabled=${closed} onClick=${() => setEdited(edited === null ? question.args : null)}>${edited === null ? "Edit" : "Discard the edit"}</button>
    </p>
    <p class="quiet" role="status">${sent && "Sent. The run goes on."}</p>
  </section>`;
}
