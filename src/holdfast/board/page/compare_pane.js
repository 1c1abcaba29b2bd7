// Two runs side by side: how each ended, what differs, what that did to memory and time, and their curves.

import * as api from "./api.js";
import { h, put } from "./dom.js";
import { size, withUnit } from "./format.js";
import { dot } from "./curve_chart.js";
import { CurvePanel } from "./curve_panel.js";
import { shortest } from "./curves_pane.js";

export class ComparePane {
  constructor({ ids, board }) {
    Object.assign(this, { ids, board });
    const runs = ids.map((id) => ({ id, label: shortest(id, ids), colour: board.colourOf(id) }));
    this.runs = runs;
    this.panel = new CurvePanel({ runs, view: board.view, onview: board.keepView, onpick: (id) => board.open([id]), isLive: (one) => board.isLive(one) });
    this.said = h("section", { class: "compared" }, h("p", { class: "note" }, "Comparing…"));
    this.element = h("article", { class: "run" },
      h("header", {}, h("div", { class: "top" }, h("h1", {}, runs.map((run, at) => [at ? " → " : "", dot(run.colour), h("a", { href: "#run=" + encodeURIComponent(run.id) }, run.label)])),
        h("button", { type: "button", class: "quiet", title: "the other way round", onclick: () => board.compare([ids[1], ids[0]]) }, "⇄"),
        h("button", { type: "button", class: "quiet close", "aria-label": "close", title: "close (Esc)", onclick: () => board.close() }, "✕"))),
      this.said, this.panel.element);
    this.read();
  }

  async read() {
    try {
      put(this.said, compared(await api.compare(...this.ids)));
    } catch (error) {
      put(this.said, h("p", { class: "note" }, error.message));
    }
  }

  update() { /* what differs between two runs is asked for once */ }

  destroy() { this.panel.destroy(); }
}

function compared(found) {
  const sign = (number, say) => (number == null ? "" : (number >= 0 ? "+" : "−") + say(Math.abs(number)));
  const changed = (number, by, say) => (number == null ? null : by == null ? say(number) : `${say(number)} (${sign(by, say)})`);
  const seconds = (number) => withUnit(number, "s");
  const rows = [
    ["ended", found.ended?.old?.outcome, found.ended?.new?.outcome],
    ["cause", found.ended?.old?.title, found.ended?.new?.title],
    found.memory?.old_bytes && ["memory at its peak", size(found.memory.old_bytes), changed(found.memory.new_bytes, found.memory.change_bytes, size)],
    found.step?.old_s && ["a step", seconds(found.step.old_s), changed(found.step.new_s, found.step.change_s, seconds)],
    ...(found.differences ?? []).slice(0, 300).map((one) => [one.what, shown(one.what, one.old), shown(one.what, one.new)]),
  ].filter((row) => row && (row[1] || row[2]));
  const effects = (found.effects ?? []).map((one) => h("li", {}, h("b", {}, sign(one.amount, one.on === "memory" ? size : seconds)), " ", one.what, h("small", {}, " " + one.known)));
  return [
    h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "what"), h("th", {}, found.old), h("th", {}, found.new))),
      h("tbody", {}, rows.map((row) => h("tr", { class: row[1] === row[2] ? "same" : "" }, h("th", {}, row[0]), h("td", {}, row[1] ?? "–"), h("td", {}, row[2] ?? "–"))))),
    effects.length > 0 && [h("h3", {}, "What accounts for it"), h("ul", {}, effects)],
    !(found.differences ?? []).length && h("p", { class: "note" }, "Nothing else that is recorded differs."),
  ];
}

function shown(what, value) {
  if (value == null || value === "") return "none";
  if (typeof value === "number" && /bytes|memory/.test(what)) return size(value);
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
