// Points of curves: what the board sent, put together, and made ready to draw. Pure.

// Adds what a request brought to what is known of a run.
export function merge(known, fresh) {
  const series = fresh.series.map((one, at) => {
    const before = known?.series[at];
    const keeps = before && one.from > 0 && before.name === one.name && before.thinned === one.thinned && before.at.length === one.from;
    if (!keeps) return { ...one };
    return { ...one, at: before.at.concat(one.at), step: before.step.concat(one.step), value: before.value.concat(one.value) };
  });
  return { ...fresh, series };
}

// What the page has already, as the board is asked.
export const have = (known) => (known?.series ?? []).map((one) => one.thinned + "." + one.at.length).join(",");

// Columns over the steps, or over seconds since the run began. The axis never goes back: where a run resumed from an
// earlier step, what was drawn beyond that step gives way to what came later.
export function columns(series, { axis, began }) {
  const xs = [], ys = [];
  const add = (at, step, value) => {
    const x = axis === "step" ? step : at - began;
    if (x == null) return;
    while (xs.length && xs[xs.length - 1] >= x) { xs.pop(); ys.pop(); }
    xs.push(x); ys.push(value);
  };
  for (let i = 0; i < series.at.length; i++) add(series.at[i], series.step[i], series.value[i]);
  if (series.last && (!series.at.length || series.last[0] > series.at[series.at.length - 1])) add(...series.last);
  return [xs, ys];
}

// An exponential moving average without the pull towards its start, as in TensorBoard. A gap stays a gap.
export function smooth(values, weight) {
  if (!weight) return values;
  let mean = 0, share = 1;
  return values.map((value) => {
    if (value == null) return value;
    mean = mean * weight + value * (1 - weight);
    share *= weight;
    return mean / (1 - share);
  });
}

export const MACHINE = ["CPU", "RAM", "GPU memory", "GPU use", "disk free", "disk read", "disk written", "step time", "steps"];
const LIMITS = { "RAM limit": "RAM" };
const first = (name) => MACHINE.find((one) => name === one || name.startsWith(one + " "));

// The charts that these runs have: [{title, unit, machine, lines: [{run, series, dashed}]}]. A validation metric
// is drawn with the training metric of its name, dashed.
export function charts(runs) {
  const found = new Map();
  for (const run of runs) {
    const names = new Set((run.curves?.series ?? []).map((one) => one.name));
    for (const series of run.curves?.series ?? []) {
      const partner = series.name.startsWith("val_") && names.has(series.name.slice(4)) ? series.name.slice(4) : null;
      const title = LIMITS[series.name] ?? partner ?? series.name;
      if (!found.has(title)) found.set(title, { title, unit: series.unit, machine: Boolean(first(title)), lines: [] });
      found.get(title).lines.push({ run, series, dashed: Boolean(partner) || series.name in LIMITS, limit: series.name in LIMITS });
    }
  }
  const place = (chart) => (chart.machine ? 1000 + MACHINE.indexOf(first(chart.title)) : chart.title === "loss" ? 0 : chart.title === "learning rate" || chart.title === "gradient norm" ? 900 : 1);
  return [...found.values()].map((chart, at) => [place(chart), at, chart]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((one) => one[2]);
}
