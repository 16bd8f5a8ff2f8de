// The page that is one file: the run stands in it.
import { Asked, RunView } from "./show.js";
import { html, render } from "./ui.js";

const run = JSON.parse(document.getElementById("run").textContent);
const question = run.confirmation;
render(html`<main><${RunView} run=${run} item=${(i) => run.items[i]} need=${() => {}}>
  ${question && html`<section class="question"><h2>Waits for confirmation</h2><${Asked} question=${question} /></section>`}
<//></main>`, document.getElementById("app"));
