"use strict";
// Draws the charts of the page from the JSON in it. One time axis: zooming one chart zooms all.
(function () {
  const colours = ["#0b6bcb", "#d1495b", "#2e9e6b", "#a05fc0", "#e08e0b", "#3aa6b9", "#8a6d3b", "#6b7280"];
  const markColours = { epoch: "#9aa5b455", save: "#2e9e6b", stall: "#e08e0b", kill: "#d1495b", restart: "#a05fc0",
    error: "#d1495b", stop: "#6b7280", nan: "#d1495b", memory: "#d1495b", validation: "#3aa6b9" };
  const style = () => getComputedStyle(document.documentElement);
  const ink = () => style().getPropertyValue("--soft").trim(), grid = () => "#8a94a33d"; // on white and on black: it may be printed

  function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (Math.abs(value) >= 1024 && unit < 4) { value /= 1024; unit++; }
    return value.toFixed(unit ? 1 : 0) + " " + units[unit];
  }
  function seconds(value) {
    if (value === 0) return "0 s";
    if (Math.abs(value) < 1e-3) return (value * 1e6).toFixed(0) + " µs";
    if (Math.abs(value) < 1) return (value * 1e3).toFixed(1) + " ms";
    return value.toFixed(2) + " s";
  }
  function clock(value) {
    const h = Math.floor(value / 3600), m = Math.floor(value / 60) % 60, s = Math.floor(value % 60);
    const two = (n) => String(n).padStart(2, "0");
    return h ? h + ":" + two(m) + ":" + two(s) : m + ":" + two(s);
  }
  const plain = (value) => value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4) ? Number(value.toExponential(3)).toExponential() : String(Number(value.toPrecision(5)));
  const say = (unit) => (value) => value == null ? "–" : unit === "bytes" ? bytes(value) : unit === "s" ? seconds(value)
    : plain(value) + (unit === "1" ? "" : " " + unit);
  const tick = (unit) => unit === "bytes" || unit === "s" ? say(unit) : say("1");
  const binary = Array.from({ length: 50 }, (_, i) => 2 ** i);
  const times = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 1209600];

  let story = { charts: [], marks: [] }, charts = [], seen = null;

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
  function nameMarks(u) { // hovering a mark says what it is
    const near = story.marks.filter((mark) => Math.abs(u.valToPos(mark.at, "x") - u.cursor.left) < 5);
    u.over.title = near.map((mark) => clock(mark.at) + " " + mark.label).join("\n");
  }

  function columns(chart) { // what is drawn, and what is said of it: stacked parts lie on top of each other
    const tables = chart.series.map((one) => [one.points.map((p) => p[0]), one.points.map((p) => p[1])]);
    const said = tables.length > 1 ? uPlot.join(tables) : tables[0];
    if (!chart.stacked) return [said, said];
    const sums = said[0].map(() => 0);
    return [[said[0], ...said.slice(1).map((values) => values.map((v, i) => v == null ? v : (sums[i] += v)))], said];
  }

  function draw(chart, holder) {
    const [data, said] = columns(chart);
    const last = said.slice(1).map((values) => values.findLast((value) => value != null)); // read without a pointer, and in print
    const positive = chart.series.every((one) => one.points.every((p) => p[1] == null || p[1] > 0));
    const span = () => ({ min: story.from, max: Math.max(story.to, story.from + 1) });
    let log = chart.log && positive;
    const values = chart.series.flatMap((one) => one.points.map((p) => p[1]).filter((v) => v > 0));
    const decades = log ? Math.log10(values.reduce((a, b) => Math.max(a, b), 1e-300) / values.reduce((a, b) => Math.min(a, b), 1e300)) : 0;
    const every = Math.ceil(decades / 6); // of many decades some are enough
    const few = (u, splits) => !log || decades <= 3 ? splits : splits.map((v) => v > 0 && Math.abs(Math.log10(v) / every - Math.round(Math.log10(v) / every)) < 1e-6 ? v : null);
    const colour = (one, i) => one.dashed && one.name === "limit" ? "#d1495b" : colours[i % colours.length];
    const options = () => ({
      width: holder.clientWidth, height: 200,
      cursor: { sync: { key: "story" }, drag: { x: true, y: false, setScale: false } }, // zooming is ours
      scales: { x: { time: false, range: (u, min, max) => seen ? [seen.min, seen.max] : [span().min, span().max] },
        y: { distr: log ? 3 : 1, range: chart.stacked ? (u, min, max) => [0, max * 1.08 || 1] : undefined } },
      axes: [
        { stroke: ink, grid: { stroke: grid(), width: 1 }, ticks: { stroke: grid(), width: 1 }, incrs: times, values: (u, v) => v.map(clock) },
        { stroke: ink, grid: { stroke: grid(), width: 1, ...(log && decades > 3 ? { filter: few } : {}) }, ticks: { stroke: grid(), width: 1, ...(log && decades > 3 ? { filter: few } : {}) }, size: 76, ...(log && decades > 3 ? { filter: few } : {}),
          incrs: chart.unit === "bytes" ? binary : undefined,
          values: (u, v) => v.map((one) => one == null ? "" : tick(chart.unit)(one)) },
      ],
      series: [{ label: "time", value: (u, v) => v == null ? "at the end" : clock(v) }].concat(chart.series.map((one, i) => ({
        label: one.name, stroke: colour(one, i), width: 1.6, show: !one.hidden,
        fill: chart.stacked && i === 0 ? colour(one, i) + "44" : undefined,
        dash: one.dashed ? [6, 4] : undefined, points: { show: one.points.length < 40 },
        value: (u, v, s, at) => say(chart.unit)(at == null ? last[i] : said[i + 1][at]) }))),
      bands: chart.stacked ? chart.series.slice(1).map((one, i) => ({ series: [i + 2, i + 1], fill: colour(one, i + 1) + "44" })) : undefined,
      hooks: { draw: [drawMarks], setCursor: [nameMarks], setSelect: [(u) => {
        if (u.select.width > 0) zoom({ min: u.posToVal(u.select.left, "x"), max: u.posToVal(u.select.left + u.select.width, "x") });
      }], ready: [(u) => u.over.addEventListener("dblclick", () => zoom(null))] },
    });
    let plot = new uPlot(options(), data, holder);
    charts.push(plot);
    const again = () => { const i = charts.indexOf(plot); if (i < 0) return; plot.destroy(); plot = new uPlot(options(), data, holder); charts[i] = plot; };
    if (chart.log && positive) {
      const button = document.createElement("button");
      button.type = "button"; button.textContent = "linear";
      button.onclick = () => { log = !log; button.textContent = log ? "linear" : "logarithmic"; again(); };
      holder.parentNode.querySelector("h3").appendChild(button);
    }
    new ResizeObserver(() => { if (charts.includes(plot)) plot.setSize({ width: holder.clientWidth, height: 200 }); }).observe(holder);
    holder.again = again;
  }

  function zoom(range) {
    seen = range;
    document.body.dataset.zoom = range ? range.min.toFixed(2) + " " + range.max.toFixed(2) : "";
    charts.forEach((one) => { one.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false); one.setData(one.data, true); });
  }

  function present(next) {
    story = next;
    charts.forEach((one) => one.destroy());
    charts = [];
    const ats = story.charts.flatMap((chart) => chart.series.flatMap((one) => one.points.length ? [one.points[0][0], one.points[one.points.length - 1][0]] : []));
    story.from = Math.min(0, ...ats); story.to = Math.max(1, ...ats, ...story.marks.map((mark) => mark.at));
    document.querySelectorAll(".plot").forEach((holder) => draw(story.charts[Number(holder.dataset.chart)], holder));
    const legend = document.getElementById("marks");
    legend.textContent = "";
    const listed = story.marks.filter((mark) => mark.kind !== "epoch").sort((a, b) => a.at - b.at);
    const bad = listed.filter((mark) => !["save", "validation"].includes(mark.kind)), usual = listed.filter((mark) => !bad.includes(mark));
    for (const mark of [...bad.slice(-30), ...usual.slice(-8)].sort((a, b) => a.at - b.at)) {
      const item = document.createElement("li"), dot = document.createElement("i");
      dot.style.background = markColours[mark.kind] || "#888";
      item.append(dot, clock(mark.at) + " " + mark.label);
      legend.appendChild(item);
    }
    document.querySelectorAll("#zoom button").forEach((button) => {
      const share = Number(button.dataset.share);
      button.onclick = () => zoom(share === 1 ? null : { min: story.to - (story.to - story.from) * share, max: story.to });
    });
    document.body.dataset.drawn = String(charts.length);
  }

  present(JSON.parse(document.getElementById("story").textContent));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.querySelectorAll(".plot").forEach((one) => one.again()));
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
})();
