"use strict";
// Draws the charts of the page from the JSON in it. One time axis: zooming one chart zooms all.
(function () {
  const story = JSON.parse(document.getElementById("story").textContent);
  const colours = ["#0b6bcb", "#d1495b", "#2e9e6b", "#a05fc0", "#e08e0b", "#3aa6b9", "#8a6d3b", "#6b7280"];
  const markColours = { epoch: "#9aa5b455", save: "#2e9e6b", stall: "#e08e0b", kill: "#d1495b", restart: "#a05fc0",
    error: "#d1495b", stop: "#6b7280", nan: "#d1495b", validation: "#3aa6b9" };
  const style = () => getComputedStyle(document.documentElement);
  const ink = () => style().getPropertyValue("--soft").trim(), grid = () => style().getPropertyValue("--line").trim();

  function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (Math.abs(value) >= 1024 && unit < 4) { value /= 1024; unit++; }
    return value.toFixed(unit ? 1 : 0) + " " + units[unit];
  }
  function seconds(value) {
    if (Math.abs(value) < 1e-3) return (value * 1e6).toFixed(0) + " µs";
    if (Math.abs(value) < 1) return (value * 1e3).toFixed(1) + " ms";
    return value.toFixed(2) + " s";
  }
  function clock(value) {
    const h = Math.floor(value / 3600), m = Math.floor(value / 60) % 60, s = Math.floor(value % 60);
    const two = (n) => String(n).padStart(2, "0");
    return h ? h + ":" + two(m) + ":" + two(s) : m + ":" + two(s);
  }
  const say = (unit) => (value) => value == null ? "–" : unit === "bytes" ? bytes(value) : unit === "s" ? seconds(value)
    : Number(value.toPrecision(5)) + (unit === "1" ? "" : " " + unit);

  const tick = (unit) => unit === "bytes" || unit === "s" ? say(unit) : say("1");
  const binary = Array.from({ length: 50 }, (_, i) => 2 ** i);

  const charts = [];
  let zooming = false;
  function zoomAll(source, min, max) {
    if (zooming) return;
    zooming = true;
    charts.forEach((one) => { if (one !== source) one.setScale("x", { min, max }); });
    zooming = false;
  }

  function drawMarks(u) {
    const ctx = u.ctx, box = u.bbox;
    ctx.save();
    ctx.lineWidth = devicePixelRatio;
    for (const mark of story.marks) {
      const x = u.valToPos(mark.at, "x", true);
      if (x < box.left || x > box.left + box.width) continue;
      ctx.strokeStyle = markColours[mark.kind] || "#888";
      ctx.setLineDash(mark.kind === "epoch" ? [] : [4 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath(); ctx.moveTo(x, box.top); ctx.lineTo(x, box.top + box.height); ctx.stroke();
    }
    ctx.restore();
  }

  function draw(chart, holder) {
    const tables = chart.series.map((one) => [one.points.map((p) => p[0]), one.points.map((p) => p[1])]);
    const data = tables.length > 1 ? uPlot.join(tables) : tables[0];
    const positive = chart.series.every((one) => one.points.every((p) => p[1] == null || p[1] > 0));
    let log = chart.log && positive;
    const options = () => ({
      width: holder.clientWidth, height: 220,
      cursor: { sync: { key: "story" }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
      axes: [
        { stroke: ink, grid: { stroke: grid(), width: 1 }, ticks: { stroke: grid(), width: 1 }, values: (u, v) => v.map(clock) },
        { stroke: ink, grid: { stroke: grid(), width: 1 }, ticks: { stroke: grid(), width: 1 }, size: 76,
          incrs: chart.unit === "bytes" ? binary : undefined,
          values: (u, v) => v.map((one) => one == null ? "" : tick(chart.unit)(one)) },
      ],
      series: [{ label: "time", value: (u, v) => v == null ? "–" : clock(v) }].concat(chart.series.map((one, i) => ({
        label: one.name, stroke: one.dashed ? "#d1495b" : colours[i % colours.length], width: 1.6, spanGaps: true,
        dash: one.dashed ? [6, 4] : undefined, points: { show: one.points.length < 40 }, value: (u, v) => say(chart.unit)(v) }))),
      hooks: { draw: [drawMarks], setScale: [(u, key) => { if (key === "x") zoomAll(u, u.scales.x.min, u.scales.x.max); }] },
    });
    let plot = new uPlot(options(), data, holder);
    charts.push(plot);
    const again = () => { const i = charts.indexOf(plot); plot.destroy(); plot = new uPlot(options(), data, holder); charts[i] = plot; };
    if (chart.log && positive) {
      const button = document.createElement("button");
      button.type = "button"; button.textContent = "linear";
      button.onclick = () => { log = !log; button.textContent = log ? "linear" : "logarithmic"; again(); };
      holder.parentNode.querySelector("h3").appendChild(button);
    }
    new ResizeObserver(() => plot.setSize({ width: holder.clientWidth, height: 220 })).observe(holder);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  }

  document.querySelectorAll(".plot").forEach((holder) => draw(story.charts[Number(holder.dataset.chart)], holder));
  const legend = document.getElementById("marks");
  const shown = story.marks.filter((mark) => mark.kind !== "epoch").slice(0, 60);
  for (const mark of shown) {
    const item = document.createElement("li"), dot = document.createElement("i");
    dot.style.background = markColours[mark.kind] || "#888";
    item.appendChild(dot);
    item.appendChild(document.createTextNode(clock(mark.at) + " " + mark.label));
    legend.appendChild(item);
  }
  document.body.dataset.drawn = String(charts.length);
})();
