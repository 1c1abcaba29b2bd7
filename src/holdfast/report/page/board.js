"use strict";
// Keeps the table of runs up to date. Every text goes in as text, never as markup.
(function () {
  const body = document.querySelector("#runs tbody"), said = document.getElementById("said"), button = document.getElementById("compare");
  const chosen = new Set();
  const cell = (row, text, kind) => { const one = row.insertCell(); one.textContent = text; if (kind) one.className = kind; return one; };
  const size = (bytes) => { const units = ["B", "KiB", "MiB", "GiB", "TiB"]; let u = 0; while (bytes >= 1000 && u < 4) { bytes /= 1024; u++; } return bytes ? bytes.toFixed(1) + " " + units[u] : ""; };
  const span = (s) => s == null ? "" : s >= 3600 ? Math.floor(s / 3600) + " h " + Math.floor(s / 60) % 60 + " min" : Math.floor(s / 60) + " min " + Math.floor(s % 60) + " s";
  function spark(cell, values) {
    if (values.length < 2) return;
    const low = Math.min(...values), high = Math.max(...values), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const line = document.createElementNS(svg.namespaceURI, "polyline");
    svg.setAttribute("class", "spark"); svg.setAttribute("viewBox", "0 0 120 26"); svg.setAttribute("preserveAspectRatio", "none");
    line.setAttribute("points", values.map((v, i) => (i * 120 / (values.length - 1)).toFixed(1) + "," + (23 - 20 * (high > low ? (v - low) / (high - low) : .5)).toFixed(1)).join(" "));
    svg.appendChild(line); cell.appendChild(svg);
  }
  function show(runs) {
    body.textContent = "";
    for (const run of runs) {
      const row = body.insertRow(), name = row.insertCell(), link = document.createElement("a");
      link.textContent = run.id; link.href = "run/" + encodeURIComponent(run.id); name.appendChild(link);
      if (run.verdict) { const text = document.createElement("div"); text.className = "verdict"; text.textContent = run.verdict; name.appendChild(text); }
      cell(row, run.state, "state " + run.state.replace(/[^a-z-]/g, "-"));
      const step = cell(row, run.step.toLocaleString() + (run.of ? " of " + run.of.toLocaleString() : "") + (run.as_printed ? " as printed" : ""));
      if (run.of) { const bar = document.createElement("div"), part = document.createElement("i"); bar.className = "bar"; part.style.width = Math.min(100, 100 * run.step / run.of) + "%"; bar.appendChild(part); step.appendChild(bar); }
      cell(row, span(run.seconds_left)); cell(row, size(run.memory_bytes) + (run.memory_limit_bytes ? " of " + size(run.memory_limit_bytes) : ""));
      spark(row.insertCell(), run.losses.filter(Number.isFinite));
      const box = document.createElement("input"); box.type = "checkbox"; box.checked = chosen.has(run.id); box.setAttribute("aria-label", "compare " + run.id);
      box.onchange = () => { box.checked ? chosen.add(run.id) : chosen.delete(run.id); button.disabled = chosen.size !== 2; };
      row.insertCell().appendChild(box);
    }
    said.textContent = runs.length ? runs.length + " runs, newest first; " + new Date().toLocaleTimeString() : "No runs here yet: holdfast run -- python train.py makes one.";
    document.body.dataset.runs = String(runs.length);
  }
  button.onclick = () => { const [a, b] = [...chosen].reverse(); location.href = "compare?old=" + encodeURIComponent(a) + "&new=" + encodeURIComponent(b); };
  const first = JSON.parse(document.getElementById("first").textContent), known = new Map(first.map((run) => [run.id, run]));
  show(first);
  const stream = new EventSource("events");
  stream.onmessage = (message) => {
    const news = JSON.parse(message.data);
    for (const run of news.changed) known.set(run.id, run);
    show(news.order.map((id) => known.get(id)));
  };
  stream.onerror = () => { said.textContent = "The board has ended, or is being started again."; };
})();
