// One item of a run: a reply of the model, or a step. A line that opens into all that there is of it.
import { Fields, Left, Raw, Text } from "./text.js";
import { html } from "./ui.js";
import { dollars, line, seconds, tokens } from "./words.js";

function plain(pieces) {
  return pieces.filter((piece) => piece.mark !== "added").map((piece) => piece.text).join("");
}

function brief(fields) {
  return fields.map((words) => (words.name ? `${words.name}: ${line(words.text, 80)}` : line(words.text, 120))).join(", ");
}

export function heading(item) {
  if (!item) return { label: "…", text: "", facts: "" };
  if (item.kind === "reply") {
    const text = plain(item.text);
    const calls = item.calls.map((call) => `${call.name} ${line(plain(call.text), 80)}`).join(", ");
    return {
      label: `reply ${item.number}`,
      text: line([text, calls].filter(Boolean).join(" ") || "nothing"),
      flag: item.fault ? "not readable" : item.repairs.length ? "repaired" : item.others.length ? "chosen" : null,
      bad: Boolean(item.fault),
      facts: seconds(item.latency_s),
    };
  }
  return {
    label: `${item.number}. ${item.marker ? item.tool.replace(/^[^\w]+/, "").replaceAll("_", " ") : item.tool}`,
    text: brief(item.args),
    result: brief(item.observation),
    flag: item.fault,
    bad: true,
    facts: seconds(item.latency_s),
  };
}

export function Body({ item, whole }) {
  if (!item) return html`<p class="quiet">Loading…</p>`;
  return item.kind === "reply" ? html`<${Reply} item=${item} whole=${whole} />` : html`<${Step} item=${item} whole=${whole} />`;
}

function Reply({ item, whole }) {
  const facts = [item.model, tokens(item.input_tokens, item.output_tokens), dollars(item.cost_usd)];
  if (item.retries) facts.push(`${item.retries} retries`);
  return html`
    ${item.reasoning && html`<details><summary>Reasoning</summary><${Text} words=${item.reasoning} whole=${whole} /></details>`}
    ${item.text.length > 0 && html`<${Raw} pieces=${item.text} /><${Left} left=${item.left} whole=${whole} />`}
    ${item.calls.length > 0 && html`<section class="fields"><h4>Calls</h4><div class="list">${item.calls.map((call) => html`
      <div class="field"><span class="name">${call.name}</span><div><${Raw} pieces=${call.text} /><${Left} left=${call.left} whole=${whole} /></div></div>`)}</div></section>`}
    ${item.repairs.length > 0 && html`<section class="fields"><h4>Repaired</h4><div class="list">${item.repairs.map((one) => html`
      <div class="field"><span class="name">${one.kind}</span><div>
        <pre><span class="tag">was </span>${one.before.text}</pre><pre><span class="tag">now </span>${one.after.text}</pre>
      </div></div>`)}</div></section>`}
    ${item.read && html`<${Fields} head="Read as" fields=${[{ ...item.read, name: "" }]} whole=${whole} />`}
    ${item.fault && html`<p class="failed">Not readable: ${item.fault.text}</p>`}
    ${item.choice && html`<section class="fields"><h4>${item.choice}</h4><div class="list">${item.others.map((one) => html`
      <div class="field"><span class="name">not used</span><div><pre>${one.said}</pre>${one.why && html`<p class="quiet">${one.why}</p>`}</div></div>`)}</div></section>`}
    <p class="quiet">${facts.filter(Boolean).join(" · ")}</p>`;
}

function Step({ item, whole }) {
  const word = item.approval;
  return html`
    <${Fields} head="Arguments" fields=${item.args} whole=${whole} />
    <${Fields} head="Edited by a person; the model gave" fields=${item.edited} whole=${whole} />
    <${Fields} head="Arguments took the types of their schema" fields=${item.read_as} whole=${whole} />
    <${Fields} head=${item.marker ? "" : "Result"} fields=${item.observation} whole=${whole} />
    ${item.fault && html`<p class="failed">${item.fault}</p>`}
    ${item.state && html`<pre class="quiet">${item.state}</pre>`}
    ${word && html`<p class="quiet">A person ${word.granted ? "approved" : "rejected"} it${word.feedback ? `: ${word.feedback}` : ""}.
      ${word.kind === "patch" && word.id && html` <a class="patch" href=${`#/patches/${word.id}`}>${word.id}</a>`}</p>`}`;
}
