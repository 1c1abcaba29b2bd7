// The list of runs: one element for each, kept between updates. Only as many are in the page as somebody scrolls to.

import { h, marked, put, write } from "./dom.js";
import { age, compact, count, size, span, value } from "./format.js";
import { needsYou } from "./run_store.js";

const BATCH = 120;
const GROUPS = ["Needs you", "Running", "Earlier"];

export class RunTable {
  constructor({ holder, end, onopen, ontick }) {
    Object.assign(this, { holder, onopen, ontick });
    this.rows = new Map(); // id -> {element, parts, run}
    this.order = [];
    this.shown = BATCH;
    this.cursor = null;
    new IntersectionObserver((seen) => {
      if (seen.some((one) => one.isIntersecting) && this.shown < this.order.length) { this.shown += BATCH; this.place(); }
    }, { rootMargin: "600px" }).observe(end);
  }

  // Runs in their order; `grouped` puts headings between them.
  show(runs, { store, grouped, changed, ticks, open }) {
    Object.assign(this, { store, grouped, ticks, open });
    this.order = runs;
    this.place(changed);
  }

  place(changed) {
    const wanted = [], seen = new Set();
    let group = null;
    for (const run of this.order.slice(0, this.shown)) {
      if (this.grouped) {
        const next = GROUPS[this.store.rank(run)];
        if (next !== group) { group = next; wanted.push(this.heading(next)); }
      }
      wanted.push(this.row(run, changed));
      seen.add(run.id);
    }
    for (const [id, one] of this.rows) if (!seen.has(id)) { one.element.remove(); this.rows.delete(id); }
    this.holder.querySelectorAll(":scope > .group").forEach((one) => { if (!wanted.includes(one)) one.remove(); });
    let at = this.holder.firstElementChild; // what is in its place already is not moved
    for (const element of wanted) {
      if (element === at) at = at.nextElementSibling;
      else this.holder.insertBefore(element, at);
    }
    this.mark();
  }

  heading(name) {
    this.headings ??= new Map();
    if (!this.headings.has(name)) this.headings.set(name, h("li", { class: "group" }, h("h2", {}, name)));
    return this.headings.get(name);
  }

  row(run, changed) {
    let one = this.rows.get(run.id);
    if (!one) {
      one = this.build(run);
      this.rows.set(run.id, one);
    } else if (one.run === run && !changed?.has(run.id)) {
      write(one.parts.age, run.live ? "" : age(run.changed, this.store.now));
      return one.element;
    }
    one.run = run;
    this.fill(one, run);
    return one.element;
  }

  build(run) {
    const parts = {
      tick: h("input", { type: "checkbox", "aria-label": "tick " + run.id, onchange: () => this.ontick(run.id), onclick: (event) => event.stopPropagation() }),
      state: h("span", { class: "state" }), name: h("a", { class: "name", href: "#run=" + encodeURIComponent(run.id) }, run.id),
      about: h("span", { class: "about" }), why: h("p", { class: "why" }), steps: h("div", { class: "steps" }),
      loss: h("div", { class: "loss" }), memory: h("div", { class: "memory" }), age: h("time", { class: "age" }),
    };
    const element = h("li", { class: "row", data: { id: run.id }, onclick: (event) => { if (!event.target.closest("a, input, label")) this.onopen(run.id); } },
      h("label", { class: "tick" }, parts.tick), parts.state, h("div", { class: "what" }, h("div", { class: "names" }, parts.name, parts.about), parts.why),
      parts.steps, parts.loss, parts.memory, parts.age);
    return { element, parts, run };
  }

  fill({ element, parts }, run) {
    element.dataset.kind = kindOf(run);
    element.classList.toggle("live", Boolean(run.live));
    element.classList.toggle("needs", needsYou(run, this.store.now));
    write(parts.state, run.state);
    write(parts.about, [run.script, run.host, run.attempt > 1 ? "attempt " + run.attempt : ""].filter(Boolean).join(" · "));
    put(parts.why, run.why && [h("span", { class: run.blames ? "blamed" : "" }, marked(run.why)), run.do && run.blames && h("span", { class: "do" }, "→ ", marked(run.do))]);
    put(parts.steps, this.steps(run));
    put(parts.loss, spark(run.losses), run.loss != null && h("b", {}, value(run.loss)));
    put(parts.memory, memory(run));
    write(parts.age, run.live ? "" : age(run.changed, this.store.now));
    parts.age.title = run.changed ? "last written " + new Date(run.changed * 1000).toLocaleString() : "";
  }

  steps(run) {
    if (!run.step) return [];
    const share = run.of ? Math.min(1, run.step / run.of) : null;
    const left = run.live && run.left_s != null ? span(run.left_s) + " left" : run.as_printed ? "as printed" : "";
    return [
      h("span", { title: count(run.step) + (run.of ? " of " + count(run.of) : "") + " steps" }, compact(run.step), run.of && h("i", {}, " / " + compact(run.of)), left && h("em", {}, left)),
      share != null && h("progress", { value: share, max: 1, "aria-label": Math.round(100 * share) + " %" }),
    ];
  }

  // Ticks, the cursor and the opened run; without drawing rows again.
  mark() {
    for (const [id, { element, parts }] of this.rows) {
      const colour = this.ticks.get(id);
      parts.tick.checked = colour != null;
      element.dataset.colour = colour ?? "";
      element.classList.toggle("cursor", id === this.cursor);
      element.classList.toggle("open", this.open.includes(id));
    }
  }

  move(by) {
    if (!this.order.length) return;
    const at = this.order.findIndex((run) => run.id === this.cursor);
    const next = Math.max(0, Math.min(this.order.length - 1, at < 0 ? 0 : at + by));
    this.go(this.order[next].id);
  }

  go(id) {
    this.cursor = id;
    const at = this.order.findIndex((run) => run.id === id);
    if (at >= this.shown) { this.shown = at + BATCH; this.place(); }
    this.mark();
    this.rows.get(id)?.element.scrollIntoView({ block: "nearest" });
  }
}

function kindOf(run) {
  if (run.state === "unreadable") return "soft";
  if (run.state === "finished" || run.state === "ended") return run.blames ? "warn" : "good";
  if (run.live) return run.state === "stalled" ? "bad" : "run";
  return run.state === "stopped-early" ? "warn" : run.state === "not watched" ? "soft" : "bad";
}

function memory(run) {
  const limit = run.gpu_total || run.memory_limit, used = run.gpu_total ? run.gpu_memory : run.memory;
  if (!used) return [];
  const busy = run.gpu_busy == null ? "" : ", " + Math.round(run.gpu_busy) + " % busy";
  return [h("span", { title: run.gpu_total ? "memory of the GPU" : "memory of the processes" }, size(used), limit && h("i", {}, " / " + size(limit)),
    h("em", {}, run.gpu_total ? "GPU" + busy : "RAM"))];
}

export function spark(values = []) {
  if (values.length < 2) return null;
  const low = Math.min(...values), high = Math.max(...values), space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg"), line = document.createElementNS(space, "polyline");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", "0 0 100 24");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  line.setAttribute("points", values.map((v, i) => (i * 100 / (values.length - 1)).toFixed(1) + "," + (22 - 20 * (high > low ? (v - low) / (high - low) : 0.5)).toFixed(1)).join(" "));
  svg.appendChild(line);
  return svg;
}
