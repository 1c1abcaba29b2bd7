// The curves of several ticked runs over each other.

import { h, put } from "./dom.js";
import { dot } from "./curve_chart.js";
import { CurvePanel } from "./curve_panel.js";

export class CurvesPane {
  constructor({ ids, board }) {
    Object.assign(this, { ids, board });
    const runs = ids.map((id) => ({ id, label: shortest(id, ids), colour: board.colourOf(id) }));
    this.panel = new CurvePanel({ runs, view: board.view, onview: board.keepView, onpick: (id) => board.open([id]), isLive: (one) => board.isLive(one) });
    this.legend = h("ul", { class: "legend" });
    this.element = h("article", { class: "run" },
      h("header", {}, h("div", { class: "top" }, h("h1", {}, ids.length + " runs"), h("button", { type: "button", class: "quiet close", "aria-label": "close", title: "close (Esc)", onclick: () => board.close() }, "✕")), this.legend),
      this.panel.element);
    this.update();
  }

  update() {
    const { store } = this.board;
    put(this.legend, this.ids.map((id) => h("li", {}, dot(this.board.colourOf(id)), h("a", { href: "#run=" + encodeURIComponent(id) }, id),
      h("small", {}, store.runs.get(id)?.state ?? "gone", store.runs.get(id)?.why ? " · " + store.runs.get(id).why : ""))));
  }

  destroy() { this.panel.destroy(); }
}

// The end of a path that distinguishes it from the others.
export function shortest(id, ids) {
  const parts = id.split("/");
  for (let length = 1; length < parts.length; length++) {
    const end = parts.slice(-length).join("/");
    if (!ids.some((other) => other !== id && other.endsWith(end))) return end;
  }
  return id;
}
