// A run as it is shown, on the server's page and in a file of its own.
import { Items } from "./list.js";
import { Fields, Text } from "./text.js";
import { html } from "./ui.js";
import { count, dollars, moment, plural, seconds, status, tokens } from "./words.js";

const LONG = 200; // characters of a question that is more a text than a title

export function Badge({ of, word }) {
  const [name, look] = status(of);
  return html`<span class=${`badge ${look}`}>${word || name}</span>`;
}

export function RunView({ run, item, need, whole, all, linked, children }) {
  const ended = run.termination_reason && run.termination_reason !== "final" ? ` (${run.termination_reason})` : "";
  const facts = [
    [run.provider, run.model].filter(Boolean).join(" ") || "model unknown", run.mode && `${run.mode} mode`,
    moment(run.ts), plural(run.lm_calls, "model call"), plural(run.tool_calls, "tool call"),
    run.repaired > 0 && `${count(run.repaired)} repaired`, tokens(run.input_tokens, run.output_tokens),
    dollars(run.cost_usd), seconds(run.latency_s),
  ];
  const named = (id) => (linked ? html`<a href=${`#/run/${id}`}><code>${id}</code></a>` : html`<code>${id}</code>`);
  return html`<article class="run">
    <header>
      <p class="over"><${Badge} of=${run.status} word=${status(run.status)[0] + ended} /> <code class="id">${run.id}</code></p>
      <h1 class=${run.question.length > LONG ? "long" : null}>${run.question}</h1>
      <ul class="facts">${facts.filter(Boolean).map((fact) => html`<li>${fact}</li>`)}</ul>
      ${run.instead.length > 0 && html`<p class="quiet">Instead of ${run.instead.join(", ")}</p>`}
      ${run.parent && html`<p class="quiet">A fork of ${named(run.parent)} after step ${run.forked_at}</p>`}
      ${run.follows && html`<details><summary>Follows ${plural(run.earlier.length || 1, "earlier turn")}</summary><ol>
        ${run.earlier.map((turn) => html`<li>${named(turn.id)} ${turn.question} → ${turn.said || "no answer"}</li>`)}
        ${!run.earlier.length && html`<li>${named(run.follows)}</li>`}</ol></details>`}
      ${run.system && html`<details><summary>System prompt</summary><${Text} words=${run.system} whole=${all} /></details>`}
      ${run.damage && html`<p class="failed">Damaged: ${run.damage}</p>`}
    </header>
    <${Items} total=${run.total} item=${item} need=${need} whole=${whole} />
    ${children}
    ${run.answer && html`<section class="answer"><h2>Answer</h2><${Text} words=${run.answer} whole=${all} /></section>`}
    ${run.model_answer && html`<section class="answer"><h2>Answer of the model</h2><${Text} words=${run.model_answer} whole=${all} /></section>`}
    <${Fields} head="Outputs" fields=${run.outputs} whole=${all} />
    ${run.gates && html`<p class="quiet">Gates: ${run.gates}</p>`}
    ${run.error && html`<p class="failed" role="alert">${run.error}</p>`}
  </article>`;
}

// An open question, in full: what is shown is what is run.
export function Asked({ question }) {
  return html`
    <pre class="call">${question.call}</pre>
    ${question.edited && html`<p>Edited by a person; the model gave: <code>${question.edited}</code></p>`}
    ${question.text !== null && html`<p class="quiet">${[question.kind, question.id].filter(Boolean).join(" ")}</p><${Text} words=${{ text: question.text, left: 0 }} />`}
    <${Fields} fields=${question.more} />
    ${question.ungrounded.length > 0 && html`<p class="mixed">Not in the question or any result: ${question.ungrounded.join(", ")}</p>`}
    ${question.fault && html`<p class="failed">The edited arguments were not taken: ${question.fault}</p>`}
    <p>${question.reason}</p>
    ${question.expires && html`<p class="quiet">Expires ${moment(question.expires)}</p>`}`;
}
