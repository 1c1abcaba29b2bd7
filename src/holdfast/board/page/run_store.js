// The runs that the board knows: merging what has changed, and which of them are shown in which order. No drawing here.

const DAY_S = 86400;
const BROKEN = new Set(["failed", "killed", "stalled", "not watched", "gone"]);

export const KINDS = [ // the chips above the list, and what belongs to them
  { name: "all", label: "All", has: () => true },
  { name: "needs", label: "Needs you", has: (run, now) => needsYou(run, now) },
  { name: "running", label: "Running", has: (run) => run.live },
  { name: "failed", label: "Failed", has: (run) => BROKEN.has(run.state) && !run.live },
  { name: "early", label: "Stopped early", has: (run) => run.state === "stopped-early" },
  { name: "finished", label: "Finished", has: (run) => run.state === "finished" || run.state === "ended" },
  { name: "unreadable", label: "Unreadable", has: (run) => run.state === "unreadable" },
];

// A run that moves and has a fault, or one that broke within a day.
export function needsYou(run, now) {
  if (run.live) return run.state === "stalled" || Boolean(run.blames) || Boolean(run.why && run.cause);
  return BROKEN.has(run.state) && now - (run.changed || 0) < DAY_S;
}

const byNumber = (name, up) => (a, b) => (a[name] == null) - (b[name] == null) || (up ? a[name] - b[name] : b[name] - a[name]);
// Live runs change all the time: among them by their begin, so that rows stay where they are.
const newest = (a, b) => Boolean(b.live) - Boolean(a.live) || byNumber(a.live ? "began" : "changed", false)(a, b);
export const ORDERS = {
  needs: { label: "Needs you first" },
  newest: { label: "Newest first", by: newest },
  name: { label: "Name", by: (a, b) => a.id.localeCompare(b.id, undefined, { numeric: true }) },
  loss: { label: "Lowest loss", by: byNumber("loss", true) },
  memory: { label: "Most memory", by: byNumber("memory", false) },
  gpu: { label: "Most GPU memory", by: byNumber("gpu_memory", false) },
  left: { label: "Ends soonest", by: byNumber("left_s", true) },
  step: { label: "Most steps", by: byNumber("step", false) },
};

export class RunStore {
  constructor() {
    this.runs = new Map();
    this.archived = new Set();
    this.hidden = new Set(); // in this tab, until it is loaded again
    this.version = 0;
    this.now = 0;
    this.places = [];
    this.complete = false;
  }

  // Returns the ids whose rows are other than before.
  apply(changes) {
    const changed = new Set();
    for (const run of changes.rows) { this.runs.set(run.id, run); changed.add(run.id); }
    for (const id of changes.gone) { this.runs.delete(id); changed.add(id); }
    Object.assign(this, { version: changes.version, now: changes.now, places: changes.places, complete: changes.complete });
    if (changes.memory) {
      this.memory = changes.memory;
      this.archived = new Set(changes.memory.archived);
    }
    return changed;
  }

  // What the filters let through, and how many of each kind there are among what the other filters let through.
  select({ kind = "all", text = "", cause = "", script = "", order = "needs", archived = false }) {
    const fits = query(text), counts = Object.fromEntries(KINDS.map((one) => [one.name, 0])), shown = [];
    const has = (KINDS.find((one) => one.name === kind) ?? KINDS[0]).has;
    for (const run of this.runs.values()) {
      if (this.archived.has(run.id) !== archived || this.hidden.has(run.id)) continue;
      if ((cause && run.cause !== cause) || (script && run.script !== script) || !fits(run)) continue;
      for (const one of KINDS) if (one.has(run, this.now)) counts[one.name]++;
      if (has(run, this.now)) shown.push(run);
    }
    return { runs: this.sort(shown, order), counts };
  }

  sort(runs, order) {
    if (order !== "needs") return runs.sort((a, b) => ORDERS[order].by(a, b) || newest(a, b));
    const rank = new Map(runs.map((run) => [run, this.rank(run)]));
    return runs.sort((a, b) => rank.get(a) - rank.get(b) || newest(a, b));
  }

  rank(run) { return needsYou(run, this.now) ? 0 : run.live ? 1 : 2; }

  // How often each value of a field occurs, the most frequent first.
  values(field) {
    const found = new Map();
    for (const run of this.runs.values()) if (run[field]) found.set(run[field], (found.get(run[field]) ?? 0) + 1);
    return [...found].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  }
}

const NUMBERS = { loss: "loss", step: "step", memory: "memory", gpu: "gpu_memory", left: "left_s" };
const TEXTS = { cause: "cause", script: "script", state: "state", host: "host", place: "place", name: "name" };
const COMPARED = /^(\w+)(<=?|>=?)(-?[\d.]+(?:e-?\d+)?)([kmgt]?)(?:i?b)?$/i;
const UNITS = { k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

// A text to filter by: words that all must occur, -word, /regular expression/, field:word, loss<0.5, memory>4g.
export function query(text) {
  const tests = text.trim().split(/\s+/).filter(Boolean).map(test);
  return (run) => tests.every((one) => one(run));
}

// What is wrong with the first word that is no filter, for when no run fits: while one types, it is no mistake yet.
export function mistake(text) {
  for (const word of text.trim().split(/\s+/).map((one) => one.replace(/^-(?=.)/, ""))) {
    const [, name, sign, value] = /^(\w+)(:|[<>]=?)(.*)$/.exec(word) ?? [];
    const known = name && Object.keys(sign === ":" ? TEXTS : NUMBERS);
    if (known && !known.includes(name.toLowerCase())) return `There is no ${sign === ":" ? "field" : "number"} ${name}: ${known.join(", ")}.`;
    if (known && sign !== ":" && !COMPARED.test(word)) return `${value || "Nothing"} is no number.`;
    if (/^\/.+\/$/.test(word) && !expressionOf(word)) return `${word} is no regular expression.`;
  }
  return "";
}

function expressionOf(word) {
  try { return new RegExp(word.slice(1, -1), "i"); } catch { return null; }
}

function test(word) {
  const not = word.startsWith("-") && word.length > 1;
  if (not) { const inner = test(word.slice(1)); return (run) => !inner(run); }
  const compared = COMPARED.exec(word);
  if (compared && NUMBERS[compared[1].toLowerCase()]) {
    const field = NUMBERS[compared[1].toLowerCase()], limit = Number(compared[3]) * (UNITS[compared[4].toLowerCase()] ?? 1);
    const below = compared[2][0] === "<", equal = compared[2].length > 1;
    return (run) => run[field] != null && ((equal && run[field] === limit) || (below ? run[field] < limit : run[field] > limit));
  }
  const named = /^(\w+):(.+)$/.exec(word);
  if (named && TEXTS[named[1].toLowerCase()]) {
    const field = TEXTS[named[1].toLowerCase()], part = named[2].toLowerCase();
    return (run) => String(run[field] ?? "").toLowerCase().includes(part);
  }
  const expression = /^\/.+\/$/.test(word) && expressionOf(word);
  if (expression) return (run) => expression.test(run.id);
  const part = word.toLowerCase();
  return (run) => [run.id, run.why, run.cause, run.script, run.host, run.state].some((one) => one && one.toLowerCase().includes(part));
}
