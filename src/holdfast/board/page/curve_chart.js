// One chart: lines of one metric, of one run or of several. uPlot draws; what is at the pointer is said beside it.

import { h, put } from "./dom.js";
import { clock, compact, size, value, withUnit } from "./format.js";

const MARKS = { stall: "#d98a00", restart: "#8b5cf6", nan: "#d1343f", kill: "#d1343f", error: "#d1343f", stop: "#6b7280" };
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];
const BINARY = Array.from({ length: 50 }, (_, i) => 2 ** i);
const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class CurveChart {
  // lines: [{label, colour, xs, ys, dashed, faint}]; marks: [{x, kind, label}]
  constructor(holder, { title, unit, onpick, onzoom }) {
    Object.assign(this, { unit, onpick, onzoom, lines: [], marks: [] });
    this.readout = h("output", {});
    this.plot = h("div", { class: "plot" });
    this.element = h("figure", { class: "chart", data: { title } }, h("figcaption", {}, h("b", {}, title), this.readout), this.plot);
    this.tip = h("div", { class: "tip", hidden: true });
    holder.append(this.element);
    this.sized = new ResizeObserver(() => {
      if (this.u && this.plot.clientWidth && this.plot.clientWidth !== this.u.width) this.u.setSize({ width: this.plot.clientWidth, height: this.u.height });
    });
    this.sized.observe(this.plot);
  }

  destroy() {
    this.sized.disconnect();
    this.u?.destroy();
    this.element.remove();
  }

  draw(lines, marks, { axis, log, range }) {
    this.lines = lines;
    this.marks = marks;
    this.range = range;
    const data = lines.length ? uPlot.join(lines.map((line) => [line.xs, line.ys])) : [[], []];
    const shape = JSON.stringify([axis, log, lines.map((line) => [line.label, line.colour, line.dashed, line.faint]), document.documentElement.dataset.shade]);
    if (this.u && shape === this.shape) this.u.setData(data);
    else this.build(data, { axis, log: log && lines.some((line) => line.ys.some((y) => y > 0)), shape });
    this.rest();
  }

  build(data, { axis, log, shape }) {
    this.u?.destroy();
    this.shape = shape;
    this.axis = axis;
    const ink = colourOf("--soft"), grid = { stroke: colourOf("--grid"), width: 1 };
    const short = this.unit === "bytes" || this.unit === "bytes/s" ? size : value;
    const axisOptions = { stroke: ink, grid, ticks: { show: false }, font: "11px system-ui, sans-serif", gap: 4 };
    this.u = new uPlot({
      width: this.plot.clientWidth || 300, height: 190, legend: { show: false },
      cursor: { sync: { key: "board" }, drag: { x: true, y: false, setScale: false }, focus: { prox: 24 }, points: { size: 6 } },
      focus: { alpha: this.lines.length > 2 ? 0.25 : 1 },
      scales: { x: { time: false, range: (u, low, high) => this.range ?? [low ?? 0, high > low ? high : (low ?? 0) + 1] }, y: { distr: log ? 3 : 1, range: log ? undefined : (u, low, high) => this.span(low, high) } },
      axes: [
        { ...axisOptions, size: 26, incrs: axis === "step" ? undefined : SECONDS, values: (u, ticks) => ticks.map((one) => (axis === "step" ? compact(one) : clock(one))) },
        { ...axisOptions, size: 58, space: 34, incrs: this.unit === "bytes" && !log ? BINARY : undefined, values: (u, ticks) => ticks.map((one) => (one == null ? "" : short(one))), ...(log ? { filter: decades } : {}) },
      ],
      series: [{}].concat(this.lines.map((line) => ({
        label: line.label, stroke: line.faint ? line.colour + "55" : line.colour, width: line.faint ? 1 : 1.7, dash: line.dashed ? [5, 4] : undefined,
        spanGaps: false, points: { show: line.xs.length < 30 && !line.faint && !line.dashed, size: 4 },
      }))),
      hooks: {
        draw: [(u) => this.drawMarks(u)],
        setCursor: [(u) => this.say(u)],
        setSelect: [(u) => {
          if (u.select.width > 4) this.onzoom([u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]);
        }],
        ready: [(u) => {
          u.over.append(this.tip);
          u.over.addEventListener("dblclick", () => this.onzoom(null));
          u.over.addEventListener("mouseleave", () => this.rest());
          u.over.addEventListener("click", () => this.picked && this.onpick?.(this.picked.run));
        }],
      },
    }, data, this.plot);
  }

  span(low, high) { // memory and use begin at 0; a flat line lies in the middle
    if (low == null) return [0, 1];
    const zero = ["bytes", "bytes/s", "%", "cores", "/s", "s"].includes(this.unit);
    if (zero) return [0, this.unit === "%" ? Math.max(100, high) : high * 1.08 || 1];
    const edge = high > low ? (high - low) * 0.06 : Math.abs(high) * 0.1 || 1;
    return [low - edge, high + edge];
  }

  drawMarks(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const mark of this.marks) {
      const x = u.valToPos(mark.x, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = MARKS[mark.kind] ?? "#888";
      ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
    }
    ctx.restore();
  }

  // At the pointer: the value of every line near it, the nearest line first.
  say(u) {
    const { idx, left, top } = u.cursor;
    if (idx == null || left < 0) return this.rest();
    const x = u.posToVal(left, "x"), said = [];
    this.lines.forEach((line, at) => {
      if (line.faint) return;
      const near = nearest(line.xs, x), y = near < 0 ? null : line.ys[near];
      if (y != null) said.push({ line, y, x: line.xs[near], away: Math.abs(u.valToPos(y, "y") - top), at });
    });
    said.sort((a, b) => a.away - b.away);
    this.picked = said[0]?.away < 24 ? said[0].line : null;
    const where = this.axis === "step" ? "step " + Math.round(x).toLocaleString("en") : clock(x);
    const marks = this.marks.filter((mark) => Math.abs(u.valToPos(mark.x, "x") - left) < 6).slice(0, 3);
    put(this.tip, h("b", {}, where), said.slice(0, 9).map(({ line, y }) => h("div", {}, dot(line.colour), h("span", {}, line.label), h("b", {}, withUnit(y, this.unit)))),
      said.length > 9 && h("div", {}, `and ${said.length - 9} more`), marks.map((mark) => h("div", { class: "mark" }, mark.label)));
    this.tip.hidden = !said.length && !marks.length;
    const right = left > u.over.clientWidth / 2;
    this.tip.style.left = right ? "" : left + 12 + "px";
    this.tip.style.right = right ? u.over.clientWidth - left + 12 + "px" : "";
    this.tip.style.top = "4px";
  }

  rest() { // without a pointer: where the lines are now
    this.tip.hidden = true;
    this.picked = null;
    const solid = this.lines.filter((line) => !line.faint);
    if (solid.length > 3) return put(this.readout);
    put(this.readout, solid.map((line) => {
      const last = line.ys.findLast((y) => y != null);
      return last == null ? null : h("span", {}, solid.length > 1 && dot(line.colour, line.dashed), line.short && h("i", {}, line.short + " "), withUnit(last, this.unit));
    }));
    return undefined;
  }
}

export const dot = (colour, dashed) => {
  const one = h("i", { class: "dot" + (dashed ? " dashed" : "") });
  one.style.setProperty("--tone", colour);
  return one;
};

function nearest(xs, x) {
  if (!xs.length || x < xs[0] - (xs[xs.length - 1] - xs[0]) * 0.02 || x > xs[xs.length - 1] + (xs[xs.length - 1] - xs[0]) * 0.02) return -1;
  let low = 0, high = xs.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (xs[middle] < x) low = middle; else high = middle; }
  return x - xs[low] < xs[high] - x ? low : high;
}

function decades(u, splits) { // of a logarithmic axis: few labels, which do not lie over each other
  const known = splits.filter((one) => one > 0), over = known.length ? Math.log10(known[known.length - 1] / known[0]) : 0;
  const shown = over > 2 ? [1] : over > 0.9 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const digit = (one) => Math.round(one / 10 ** Math.floor(Math.log10(one) + 1e-6));
  return splits.map((one) => (one > 0 && shown.includes(digit(one)) ? one : null));
}
