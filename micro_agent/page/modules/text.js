// Texts of models and tools: always as text, never as HTML.
import { html } from "./ui.js";
import { plural } from "./words.js";

const DIFF = /^(diff --git |--- [^\n]+\n\+\+\+ |@@ -\d)/m;

function kind(line) {
  if (/^(diff --git|index |--- |\+\+\+ |similarity |rename |new file|deleted file)/.test(line)) return "head";
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+")) return "plus";
  return line.startsWith("-") ? "minus" : null;
}

export function Diff({ text }) {
  const lines = text.replace(/\n$/, "").split("\n");
  return html`<pre class="diff" tabindex="0">${lines.map((line) => html`<span class=${kind(line)}>${line + "\n"}</span>`)}</pre>`;
}

// A text, in colours if it is a diff; `whole` loads what was cut off.
export function Text({ words, whole }) {
  const body = DIFF.test(words.text) ? html`<${Diff} text=${words.text} />` : html`<pre>${words.text}</pre>`;
  return html`${body}<${Left} left=${words.left} whole=${whole} />`;
}

export function Left({ left, whole }) {
  if (!left) return null;
  const told = `${plural(left, "character")} more`;
  return whole ? html`<button class="link" onClick=${whole}>Show ${told}</button>` : html`<p class="quiet">${told}</p>`;
}

// Named texts one below the other.
export function Fields({ fields, whole, head }) {
  if (!fields.length) return null;
  return html`<section class="fields">
    ${head && html`<h4>${head}</h4>`}
    <div class="list">${fields.map((words) => html`<div class="field" key=${words.name}>
      ${words.name && html`<span class="name">${words.name}</span>`}
      <div><${Text} words=${words} whole=${whole} /></div>
    </div>`)}</div>
  </section>`;
}

// A raw reply with what was repaired in it. Screen readers are told what is marked.
export function Raw({ pieces }) {
  return html`<pre class="raw">${pieces.map((piece) => {
    if (piece.mark === "removed") return html`<del>${piece.text}</del>`;
    if (piece.mark === "added") return html`<ins>${piece.text}</ins>`;
    return piece.mark ? html`<mark>${piece.text}</mark>` : piece.text;
  })}</pre>`;
}
