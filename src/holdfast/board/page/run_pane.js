// One run: why it ended or how it is doing, what to do, its curves and its machine, and what it printed.

import * as api from "./api.js";
import { copy, h, put } from "./dom.js";
import { count, size, span } from "./format.js";
import { CurvePanel } from "./curve_panel.js";
import { fold, verdictView } from "./verdict_view.js";

const VERDICT_S = 10, FACTS_S = 5;

export class RunPane {
  constructor({ id, board }) {
    Object.assign(this, { id, board });
    this.head = h("header");
    this.verdict = h("section", { class: "verdict", "aria-label": "verdict" }, h("p", { class: "note" }, "Looking at the evidence…"));
    this.output = h("pre", { class: "output" });
    this.facts = h("dl", { class: "pairs" });
    this.panel = new CurvePanel({ runs: [{ id, label: id, colour: board.colourOf(id) }], view: board.view, onview: board.keepView, isLive: (one) => board.isLive(one) });
    this.outputFold = fold("Output, its end", this.output);
    this.element = h("article", { class: "run" }, this.head, this.verdict, this.panel.element, this.outputFold, fold("What it was", this.facts));
    this.stops = [api.repeat(() => this.readVerdict(), VERDICT_S), api.repeat(() => this.readFacts(), FACTS_S)];
    this.update();
  }

  // The row of the list, whenever it has changed.
  update() {
    const run = this.board.store.runs.get(this.id);
    if (!run) return put(this.head, h("h1", {}, this.id), h("p", { class: "note" }, "This run is not below the folders of this board any more."));
    const key = JSON.stringify([run, this.board.isArchived(this.id), this.board.ticks.has(this.id)]);
    if (key === this.key) return undefined;
    this.key = key;
    const facts = [
      run.step && "step " + count(run.step) + (run.of ? " of " + count(run.of) : "") + (run.as_printed ? " as printed" : ""),
      run.live && run.left_s != null && span(run.left_s) + " left", run.attempt > 1 && "attempt " + run.attempt,
      run.began && run.changed && "ran " + span(run.changed - run.began), run.began && "began " + new Date(run.began * 1000).toLocaleString(),
      run.memory && size(run.memory) + (run.memory_limit ? " of " + size(run.memory_limit) : "") + " RAM", run.host,
    ].filter(Boolean);
    const kind = this.board.kindOf(this.id);
    const archived = this.board.isArchived(this.id);
    put(this.head,
      h("div", { class: "top" }, h("h1", {}, this.id), h("span", { class: "state", data: { kind } }, run.state), h("button", { type: "button", class: "quiet close", "aria-label": "close", title: "close (Esc)", onclick: () => this.board.close() }, "✕")),
      h("p", { class: "facts" }, facts.join(" · ")), this.command ?? null,
      h("p", { class: "actions" },
        h("a", { class: "button", href: "report?id=" + encodeURIComponent(this.id), target: "_blank", rel: "noopener" }, "full report"),
        h("button", { type: "button", onclick: () => this.board.tick(this.id) }, this.board.ticks.has(this.id) ? "untick" : "tick for curves"),
        h("button", { type: "button", onclick: () => this.board.archive([this.id], archived) }, archived ? "bring back" : "archive"),
        this.path && h("button", { type: "button", onclick: (event) => copy(this.path, event.currentTarget), title: this.path }, "copy folder")));
    return undefined;
  }

  async readVerdict() {
    const run = this.board.store.runs.get(this.id);
    if (run?.state === "unreadable") {
      put(this.verdict, h("div", { class: "finding first" }, h("h3", {}, "This run folder cannot be read"), h("p", {}, run.why), run.do && h("p", {}, "→ ", h("code", {}, run.do))));
      return VERDICT_S;
    }
    if (this.known && !run?.live && this.changed === run?.changed) return VERDICT_S;
    this.changed = run?.changed;
    try {
      const verdict = await api.verdict(this.id), text = JSON.stringify(verdict);
      if (text !== this.known) {
        const open = new Set([...this.verdict.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
        put(this.verdict, verdictView(verdict));
        if (this.known) this.verdict.querySelectorAll("details > summary").forEach((one) => { one.parentNode.open = open.has(one.textContent); });
        this.known = text;
      }
    } catch (error) {
      if (!this.known) put(this.verdict, h("div", { class: "finding" }, h("h3", {}, run?.why ?? "No verdict"), h("p", { class: "note" }, error.message)));
    }
    return VERDICT_S;
  }

  async readFacts() {
    const run = this.board.store.runs.get(this.id);
    if (this.path && !run?.live) return FACTS_S;
    let known;
    try { known = await api.run(this.id); } catch { return FACTS_S; }
    const first = !this.path;
    this.path = known.path;
    if (this.output.textContent !== known.output) {
      const atEnd = this.output.scrollHeight - this.output.scrollTop - this.output.clientHeight < 40;
      this.output.textContent = known.output;
      if (atEnd || first) this.output.scrollTop = this.output.scrollHeight;
    }
    this.outputFold.hidden = !known.output;
    if (first) {
      this.command = known.command ? h("pre", { class: "command" }, known.command) : null;
      put(this.facts, [["folder", known.path], ...known.facts].map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
      this.outputFold.addEventListener("toggle", () => { this.output.scrollTop = this.output.scrollHeight; });
      this.key = "";
      this.update();
    }
    return FACTS_S;
  }

  destroy() {
    this.stops.forEach((stop) => stop());
    this.panel.destroy();
  }
}
