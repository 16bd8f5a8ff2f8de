// How figures are said. What is unknown is said to be unknown.
const LOCALE = "en";

export function seconds(value) {
  if (value === null || value === undefined) return "";
  if (value < 0.1) return `${(1000 * value).toFixed(value < 0.01 ? 1 : 0)} ms`;
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} s`;
}

export function tokens(input, output) {
  if (input === null && output === null) return "tokens unknown";
  return `tokens ${count(input)} in, ${count(output)} out`;
}

export function count(value) {
  return value === null ? "unknown" : value.toLocaleString(LOCALE);
}

export function dollars(value) {
  if (value === null) return "cost unknown";
  return value === 0 ? "$0" : `$${value.toPrecision(3).replace(/e.*/, "")}`;
}

export function plural(number, thing) {
  return `${number.toLocaleString(LOCALE)} ${thing}${number === 1 ? "" : thing.endsWith("y") ? "" : "s"}`;
}

export function moment(ts) {
  const date = new Date(ts);
  return Number.isNaN(date.getTime()) ? ts || "" : date.toLocaleString(LOCALE, { dateStyle: "medium", timeStyle: "short" });
}

export function line(text, most = 160) {
  const flat = text.slice(0, 4 * most).replace(/\s+/g, " ").trim();
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

// What a status is called, and the class of its colour.
const STATUS = {
  running: ["running", "busy"],
  completed: ["completed", "ok"],
  confirmation_required: ["waiting", "mixed"],
  stopped: ["stopped", "mixed"],
  failed: ["failed", "failed"],
  proposed: ["proposed", "mixed"],
  approved: ["approved", "ok"],
  rejected: ["rejected", "failed"],
  applied: ["applied", "ok"],
  undone: ["undone", "quiet"],
};

export function status(name) {
  return STATUS[name] || ["unreadable", "failed"];
}
