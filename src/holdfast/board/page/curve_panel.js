// The curves of one run or of several: a row of controls, then a chart for each metric and for what the machine did.

import * as api from "./api.js";
import { h, put } from "./dom.js";
import { CurveChart } from "./curve_chart.js";
import { charts, columns, have, merge, smooth } from "./curve_data.js";
import { fold } from "./verdict_view.js";

const LIVE_S = 2, ENDED_S = 30;

export class CurvePanel {
  // runs: [{id, label, colour}]; view: {axis, log, smoothing}, changed in place and announced by onview.
  constructor({ runs, view, onview, onpick, isLive }) {
    Object.assign(this, { view, onview, onpick, isLive, drawn: new Map(), range: null });
    this.runs = runs.map((run) => ({ ...run }));
    this.metrics = h("div", { class: "charts" });
    this.machine = h("div", { class: "charts" });
    this.note = h("p", { class: "note" }, "reading…");
    this.machineFold = fold("Machine", this.machine, true);
    this.element = h("div", { class: "curves" }, this.controls(), this.note, this.metrics, this.machineFold);
    this.stop = api.repeat(() => this.read(), LIVE_S);
  }

  controls() {
    const choice = (name, options) => h("span", { class: "choice", role: "group", "aria-label": name }, options.map(([value, text]) =>
      h("button", { type: "button", "aria-pressed": String(this.view[name] === value), data: { [name]: String(value) }, onclick: () => this.set({ [name]: value }) }, text)));
    const slider = h("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: this.view.smoothing, "aria-label": "smoothing", oninput: () => this.set({ smoothing: Number(slider.value) }) });
    const filter = h("input", { type: "search", class: "metric", placeholder: "metric", "aria-label": "show metrics by name", oninput: () => { this.wanted = filter.value.trim().toLowerCase(); this.draw(); } });
    this.slider = slider;
    return h("div", { class: "controls" }, choice("axis", [["step", "step"], ["time", "time"]]), choice("log", [[false, "linear"], [true, "log"]]),
      h("label", { class: "smoothing" }, "smooth", slider, this.amount = h("output", {}, String(this.view.smoothing))), filter,
      this.unzoom = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.zoom(null) }, "everything"));
  }

  set(change) {
    if ("axis" in change && change.axis !== this.view.axis) this.range = null;
    Object.assign(this.view, change);
    for (const [name, value] of Object.entries(this.view)) {
      this.element.querySelectorAll(`[data-${name}]`).forEach((button) => button.setAttribute("aria-pressed", String(button.dataset[name] === String(value))));
    }
    this.amount.textContent = String(this.view.smoothing);
    if (Number(this.slider.value) !== this.view.smoothing) this.slider.value = this.view.smoothing;
    this.onview(this.view);
    this.later();
  }

  later() { // a slider sends more changes than a screen shows
    this.waiting ??= requestAnimationFrame(() => { this.waiting = null; this.draw(); });
  }

  zoom(range) {
    this.range = range;
    this.unzoom.hidden = !range;
    this.draw();
  }

  async read() {
    let more = false, failed = "";
    await Promise.all(this.runs.map(async (run) => {
      if (run.ended && this.reads++ % Math.ceil(ENDED_S / LIVE_S)) return;
      try {
        const fresh = await api.curves(run.id, have(run.curves));
        run.news = fresh.series.some((one) => one.at.length) || !run.curves;
        run.curves = merge(run.curves, fresh);
        run.ended = !fresh.more && !this.isLive(run.id);
        more ||= fresh.more;
      } catch (error) { failed = error.message; }
    }));
    if (this.runs.some((run) => run.news)) this.draw();
    this.say(failed, more);
    return more ? 0.1 : LIVE_S;
  }

  say(failed, more) {
    const known = this.runs.filter((run) => run.curves);
    const sampled = known.some((run) => run.curves.sampled), trouble = known.map((run) => run.curves.trouble).find(Boolean);
    const nothing = known.length > 0 && !more && !known.some((run) => run.curves.series.length);
    const text = failed || trouble || (nothing ? "No step and no sample has been recorded." : more ? "reading…" : sampled ? "A long run: every point is a measured one, and not all of them are drawn. The report draws more." : "");
    this.note.textContent = text;
    this.note.hidden = !text;
  }

  draw() {
    const wanted = charts(this.runs).filter((chart) => !this.wanted || chart.title.toLowerCase().includes(this.wanted)), titles = new Set(wanted.map((chart) => chart.title));
    for (const [title, chart] of this.drawn) if (!titles.has(title)) { chart.destroy(); this.drawn.delete(title); }
    for (const chart of wanted) {
      let one = this.drawn.get(chart.title);
      if (!one) {
        one = new CurveChart(chart.machine ? this.machine : this.metrics, { title: chart.title, unit: chart.unit, onpick: (run) => this.onpick?.(run), onzoom: (range) => this.zoom(range) });
        this.drawn.set(chart.title, one);
      }
      const log = this.view.log && !chart.machine;
      const lines = chart.lines.flatMap((line) => this.lines(line, chart, log));
      if (lines.length) one.draw(lines, this.runs.length === 1 ? this.marks() : [], { axis: this.view.axis, log, range: this.range });
    }
    this.machineFold.hidden = !this.machine.childElementCount;
    this.element.dataset.drawn = String(this.drawn.size);
    this.element.dataset.smoothing = String(this.view.smoothing);
  }

  lines({ run, series, dashed, limit }, chart, log) {
    const [xs, ys] = columns(series, { axis: this.view.axis, began: run.curves.began });
    const several = this.runs.length > 1;
    const own = { xs, run: run.id, dashed, colour: limit && !several ? "#d1343f" : run.colour, label: several ? run.label + (dashed ? " · " + series.name : "") : series.name };
    own.short = several ? "" : limit ? "limit" : dashed ? "val" : "";
    const above = (values) => (log ? values.map((y) => (y > 0 ? y : null)) : values);
    const weight = chart.machine || limit ? 0 : this.view.smoothing;
    if (!weight) return [{ ...own, ys: above(ys) }];
    const raw = { ...own, ys: above(ys), faint: true, label: own.label + " as measured" };
    return several && this.runs.length > 4 ? [{ ...own, ys: above(smooth(ys, weight)) }] : [raw, { ...own, ys: above(smooth(ys, weight)) }];
  }

  marks() {
    const { curves } = this.runs[0];
    return curves.marks.map((mark) => ({ ...mark, x: this.view.axis === "step" ? mark.step : mark.at - curves.began }));
  }

  destroy() {
    this.stop();
    for (const chart of this.drawn.values()) chart.destroy();
    put(this.element);
  }
}

CurvePanel.prototype.reads = 0;
