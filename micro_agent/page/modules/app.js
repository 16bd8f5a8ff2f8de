// The page of the server: where one is (the address behind #), what is there, and the token.
import { get, locked, notice, tell, token, unlock } from "./api.js";
import { PatchesPage, PatchPage } from "./patches.js";
import { RunPage } from "./run.js";
import { RunsPage } from "./runs.js";
import { signal } from "./signals.js";
import { html, render, useEffect, useRef, useState } from "./ui.js";

const COUNT_MS = 10000;
const place = signal(location.hash);
addEventListener("hashchange", () => { tell(null); document.title = "micro-agent"; place.value = location.hash; scrollTo(0, 0); });

function Page() {
  const [path, query] = place.value.replace(/^#\/?/, "").split("?");
  const [kind, id] = path.split("/");
  if (kind === "run" && /^[0-9a-f]{32}$/.test(id)) return html`<${RunPage} id=${id} />`;
  if (kind === "patches" && id) return html`<${PatchPage} id=${id} />`;
  if (kind === "patches") return html`<${PatchesPage} />`;
  return html`<${RunsPage} query=${query} />`;
}

function Bar() {
  const [health, setHealth] = useState(null);
  const [waiting, setWaiting] = useState(0);
  const [repository, setRepository] = useState(null);
  useEffect(() => {
    const look = () => {
      if (document.hidden || locked.value) return;
      get("/approvals").then(({ approvals }) => setWaiting(approvals.length), () => {});
    };
    get("/health").then(setHealth, () => {});
    get("/patches").then((queue) => setRepository(queue.repository), () => {});
    look();
    const timer = setInterval(look, COUNT_MS);
    return () => clearInterval(timer);
  }, [token.value]);
  const here = (start) => (place.value.startsWith(start) ? "page" : null);
  const waits = "#/?status=confirmation_required";
  return html`<header class="bar">
    <a class="skip" href="#content" onClick=${skip}>Skip to the content</a>
    <strong>micro-agent</strong>
    <nav aria-label="Pages"><ul>
      <li><a href="#/" aria-current=${place.value !== waits && !here("#/patches") ? "page" : null}>Runs</a></li>
      <li><a href=${waits} aria-current=${here(waits)}>Waiting${waiting ? html` <span class="count">${waiting}</span>` : null}</a></li>
      ${repository && html`<li><a href="#/patches" aria-current=${here("#/patches")}>Patches</a></li>`}
    </ul></nav>
    ${health && html`<span class="model">${[health.provider, health.model].filter(Boolean).join(" ")}${health.status === "ok" ? "" : html` <span class="failed">${health.status}</span>`}</span>`}
  </header>`;
}

function skip(event) {
  event.preventDefault();
  const main = document.querySelector("main");
  main.tabIndex = -1;
  main.focus();
}

function Token() {
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const enter = (event) => { event.preventDefault(); unlock(field.current.value.trim()); };
  return html`<main><form class="token" onSubmit=${enter}>
    <h1>This server asks for its token</h1>
    <label>Token <input type="password" autocomplete="off" ref=${field} required /></label>
    <p class="quiet">The value of MICRO_AGENT_API_TOKEN. It is kept until this tab is closed.</p>
    <p class="buttons"><button class="main">Enter</button></p>
    ${token.value && html`<p class="failed" role="alert">The server did not take the token.</p>`}
  </form></main>`;
}

function App() {
  const said = notice.value;
  return html`<${Bar} />
    <div class="notices" role="alert">${said && html`<p class=${`notice ${said.bad ? "failed" : "ok"}`}>${said.text} <button class="link" onClick=${() => tell(null)}>Close</button></p>`}</div>
    ${locked.value ? html`<${Token} />` : html`<${Page} key=${token.value} />`}`;
}

const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
