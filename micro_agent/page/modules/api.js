// Requests to the server that sent this page, and to no other.
import { signal } from "./signals.js";

const KEY = "micro-agent-token";

export const token = signal(sessionStorage.getItem(KEY));
// Whether the server has asked for a token that it was not given.
export const locked = signal(false);
// One line about what went wrong or was done, for whoever looks on.
export const notice = signal(null);

export class Failed extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function unlock(value) {
  sessionStorage.setItem(KEY, value);
  token.value = value;
  locked.value = false;
}

export function tell(text, bad = true) {
  notice.value = text ? { text, bad } : null;
}

// Tell what went wrong: what the server refused, or that it is away. Anything else is a defect, and the console has it.
export function report(error) {
  if (error.name === "AbortError") return;
  if (!(error instanceof Failed) && !(error instanceof TypeError)) throw error;
  tell(error instanceof Failed ? error.message : "The server cannot be reached.");
}

async function sent(path, { method = "GET", text, headers = {}, signal } = {}) {
  const every = { ...headers };
  if (token.value) every.Authorization = `Bearer ${token.value}`;
  if (text !== undefined) every["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers: every, body: text, signal, cache: "no-store" });
  if (answer.ok) return answer;
  if (answer.status === 401) locked.value = true;
  const problem = (await answer.json().catch(() => ({}))).error || {};
  throw new Failed(answer.status, problem.code, problem.message || `The server answered ${answer.status}.`);
}

export async function get(path, signal) {
  return (await sent(path, { signal })).json();
}

// The body is text, so that numbers that JavaScript cannot hold arrive as they were written.
export async function post(path, text = "{}", signal) {
  return (await sent(path, { method: "POST", text, signal })).json();
}

// Server-sent events, by `fetch`: an EventSource cannot send a token.
export async function* events(path, { method = "GET", text, after, signal } = {}) {
  const headers = after ? { "Last-Event-ID": after } : {};
  const answer = await sent(path, { method, text, headers, signal });
  if (answer.status === 204) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const event = {};
      for (const line of frame.split("\n")) {
        const at = line.indexOf(":");
        if (at > 0) event[line.slice(0, at)] = line.slice(at + 1).trimStart();
      }
      if (event.event) yield event;
    }
  }
}
