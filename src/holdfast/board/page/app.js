// The board: the list of runs, what is opened beside it, and what a person has arranged.

import * as api from "./api.js";
import { announce, h, put, write } from "./dom.js";
import { count } from "./format.js";
import { ComparePane } from "./compare_pane.js";
import { CurvesPane } from "./curves_pane.js";
import { Keyboard } from "./keyboard.js";
import { KINDS, ORDERS, RunStore, mistake, needsYou } from "./run_store.js";
import { RunPane } from "./run_pane.js";
import { RunTable } from "./run_table.js";

const POLL_S = 1, READING_S = 0.1, COLOURS = 10;
const DEFAULT_VIEW = { axis: "step", log: false, smoothing: 0, order: "needs", theme: "" };
const $ = (id) => document.getElementById(id);

class Board {
  constructor(first) {
    this.store = new RunStore();
    this.ticks = new Map(); // id -> number of its colour, in the order of ticking
    this.filter = { kind: "all", text: "", cause: "", script: "", archived: false };
    this.opened = null;
    this.keepView = () => { clearTimeout(this.keeping); this.keeping = setTimeout(() => this.saveView(), 800); };
    this.table = new RunTable({ holder: $("rows"), end: $("end"), onopen: (id) => this.open([id]), ontick: (id) => this.tick(id) });
    this.store.apply(first);
    this.view = { ...DEFAULT_VIEW, ...known(first.memory.view) };
    this.controls();
    this.draw();
    this.route();
    addEventListener("hashchange", () => this.route());
    document.body.dataset.painted = String(Math.round(performance.now()));
    api.repeat(() => this.poll(), POLL_S);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.shade());
  }

  // -- keeping current ------------------------------------------------------------------------------

  async poll() {
    try {
      const changes = await api.changes(this.store.version, this.store.memory.stamp);
      const changed = this.store.apply(changes);
      this.trouble();
      if (changed.size || changes.memory || this.minute !== Math.floor(this.store.now / 20)) this.draw(changed);
      this.minute = Math.floor(this.store.now / 20);
      if (this.store.complete && !document.body.dataset.complete) document.body.dataset.complete = String(Math.round(performance.now()));
      return this.store.complete ? POLL_S : READING_S;
    } catch (error) {
      this.trouble(error.message);
      return 3;
    }
  }

  trouble(text = "") {
    const places = this.store.places.filter((place) => place.trouble).map((place) => place.path + ": " + place.trouble);
    const said = [text, ...places, this.store.memory.trouble].filter(Boolean).join(" · ");
    write($("trouble"), said);
    $("trouble").hidden = !said;
  }

  draw(changed) {
    const { runs, counts } = this.store.select({ ...this.filter, order: this.view.order });
    this.table.show(runs, { store: this.store, grouped: this.view.order === "needs" && this.filter.kind === "all", changed, ticks: this.ticks, open: this.opened?.ids ?? [] });
    this.chips(counts);
    this.choices();
    this.nothing(runs.length);
    this.opened?.pane.update();
    document.title = (counts.needs ? `(${counts.needs}) ` : "") + "Runs · Holdfast";
    document.body.dataset.runs = String(runs.length);
  }

  nothing(shown) {
    const none = this.store.runs.size === 0;
    $("nothing").hidden = shown > 0;
    if (shown) return;
    put($("nothing"), !this.store.complete ? "Reading the runs…" : none ? ["No runs here yet. ", h("code", {}, "holdfast run -- python train.py"), " makes one."] : this.filter.archived ? "Nothing is archived." : "No run fits the filters. " + mistake(this.filter.text));
  }

  // -- controls -------------------------------------------------------------------------------------

  controls() {
    put($("sort"), Object.entries(ORDERS).map(([value, order]) => h("option", { value }, order.label)));
    $("sort").value = this.view.order in ORDERS ? this.view.order : "needs";
    $("sort").onchange = () => { this.view.order = $("sort").value; this.table.shown = 120; this.keepView(); this.draw(); };
    $("find").oninput = () => { this.filter.text = $("find").value; this.draw(); };
    $("cause").onchange = () => { this.filter.cause = $("cause").value; this.draw(); };
    $("script").onchange = () => { this.filter.script = $("script").value; this.draw(); };
    $("theme").onclick = () => this.theme();
    $("help").onclick = () => $("keys").showModal();
    this.shade();
    this.keys();
  }

  chips(counts) {
    this.chipButtons ??= new Map(KINDS.map((kind) => {
      const number = h("b", {}), button = h("button", { type: "button", data: { kind: kind.name }, onclick: () => { this.filter.kind = this.filter.kind === kind.name ? "all" : kind.name; this.draw(); } }, kind.label, " ", number);
      $("states").append(button);
      return [kind.name, { button, number }];
    }));
    for (const [name, { button, number }] of this.chipButtons) {
      write(number, count(counts[name]));
      button.setAttribute("aria-pressed", String(this.filter.kind === name));
      button.hidden = name !== "all" && name !== "running" && !counts[name] && this.filter.kind !== name;
    }
    this.archiveButton ??= h("button", { type: "button", data: { kind: "archived" }, onclick: () => this.showArchived() }, "Archived ", h("b", {}));
    if (!this.archiveButton.isConnected) $("states").append(this.archiveButton);
    write(this.archiveButton.lastElementChild, count(this.store.archived.size));
    this.archiveButton.hidden = !this.store.archived.size && !this.filter.archived;
    this.archiveButton.setAttribute("aria-pressed", String(this.filter.archived));
  }

  choices() {
    for (const [name, label] of [["cause", "any cause"], ["script", "any script"]]) {
      const values = this.store.values(name), key = JSON.stringify(values);
      if ($(name).dataset.key === key) continue;
      $(name).dataset.key = key;
      put($(name), h("option", { value: "" }, label), values.slice(0, 200).map(([value, times]) => h("option", { value }, `${value} (${times})`)));
      $(name).value = this.filter[name];
      $(name).hidden = values.length < 2 && !this.filter[name];
    }
  }

  showArchived() { this.filter.archived = !this.filter.archived; this.draw(); }

  theme() {
    const next = { "": "dark", dark: "light", light: "" }[this.view.theme] ?? "";
    this.view.theme = next;
    announce(next ? next + " colours" : "colours of the system");
    this.shade();
    this.keepView();
  }

  shade() { // the charts have the colours in them
    const root = document.documentElement;
    if (this.view.theme) root.dataset.theme = this.view.theme; else delete root.dataset.theme;
    root.dataset.shade = getComputedStyle(root).getPropertyValue("--paper").trim();
    this.opened?.pane.panel?.draw();
  }

  keys() {
    const chosen = () => (this.ticks.size ? [...this.ticks.keys()] : [this.table.cursor ?? this.opened?.ids[0]].filter(Boolean));
    const panel = () => this.opened?.pane.panel;
    const smoothing = (by) => panel()?.set({ smoothing: Math.round(100 * Math.max(0, Math.min(0.99, this.view.smoothing + by))) / 100 });
    const follow = (by) => { this.table.move(by); if (this.opened?.kind === "run" && this.table.cursor) this.open([this.table.cursor], true); };
    new Keyboard({ dialog: $("keys"), groups: [
      ["Runs", [
        [["j", "ArrowDown"], "next run", () => follow(1)], [["k", "ArrowUp"], "run before", () => follow(-1)],
        [["n"], "next run that needs you", () => this.nextNeedy()],
        [["Enter", "o"], "open: why, and what to do", () => this.table.cursor && this.open([this.table.cursor])],
        [["x"], "tick", () => this.table.cursor && this.tick(this.table.cursor)], [["Escape"], "close, or untick all", () => (this.opened ? this.close() : this.untick())],
      ]],
      ["Ticked runs, or the one at the cursor", [
        [["c"], "curves over each other", () => this.open(chosen(), false, "curves")], [["d"], "what differs between two", () => this.compare(chosen())],
        [["h"], "hide until the page is loaded again", () => this.hide(chosen())], [["e"], "archive, or bring back", () => this.archive(chosen(), this.filter.archived)],
      ]],
      ["List", [
        [["/"], "filter", () => $("find").focus()], [["0"], "all filters off", () => this.unfilter()],
        [["1"], "needs you", () => this.kind("needs")], [["2"], "running", () => this.kind("running")], [["3"], "failed", () => this.kind("failed")],
        [["s"], "next order", () => this.nextOrder()], [["a"], "archived runs", () => this.showArchived()],
      ]],
      ["Curves", [
        [["m"], "by step or by time", () => panel()?.set({ axis: this.view.axis === "step" ? "time" : "step" })], [["l"], "linear or logarithmic", () => panel()?.set({ log: !this.view.log })],
        [["["], "less smoothing", () => smoothing(-0.1)], [["]"], "more smoothing", () => smoothing(0.1)], [["z"], "everything, after a zoom", () => panel()?.zoom(null)],
        [["t"], "light, dark, as the system", () => this.theme()], [["?"], "these keys", () => $("keys").showModal()],
      ]],
    ] });
  }

  kind(name) { this.filter.kind = this.filter.kind === name ? "all" : name; this.draw(); }

  unfilter() {
    Object.assign(this.filter, { kind: "all", text: "", cause: "", script: "", archived: false });
    for (const id of ["find", "cause", "script"]) $(id).value = "";
    this.store.hidden.clear();
    this.draw();
  }

  nextOrder() {
    const names = Object.keys(ORDERS);
    this.view.order = $("sort").value = names[(names.indexOf(this.view.order) + 1) % names.length];
    announce(ORDERS[this.view.order].label);
    this.keepView();
    this.draw();
  }

  nextNeedy() {
    const needy = this.table.order.filter((run) => needsYou(run, this.store.now)), at = needy.findIndex((run) => run.id === this.table.cursor);
    if (!needy.length) return announce("No run needs you.");
    const next = needy[(at + 1) % needy.length];
    this.table.go(next.id);
    return this.open([next.id], true);
  }

  // -- what is opened beside the list ---------------------------------------------------------------

  open(ids, quietly = false, kind = "run") {
    if (!ids.length) return;
    const hash = "#" + kind + "=" + ids.map(encodeURIComponent).join(",");
    if (quietly) { history.replaceState(null, "", hash); this.route(); } else location.hash = hash;
  }

  compare(ids) {
    if (ids.length !== 2) return announce("Tick two runs to compare them.");
    return this.open(ids, false, "compare");
  }

  close() { history.pushState(null, "", location.pathname); this.route(); }

  // The address says what is open, so that it can be loaded again and the browser's way back works.
  route() {
    const [, kind, list] = /^#(run|curves|compare)=(.+)$/.exec(location.hash) ?? [];
    const ids = (list ?? "").split(",").filter(Boolean).map(decode).slice(0, 30);
    if (this.opened && this.opened.kind === kind && this.opened.ids.join() === ids.join()) return;
    this.opened?.pane.destroy();
    this.opened = null;
    const Pane = { run: RunPane, curves: CurvesPane, compare: ComparePane }[kind];
    const scrolled = scrollY;
    $("pane").hidden = !Pane;
    document.body.classList.toggle("opened", Boolean(Pane));
    if (Pane) {
      if (kind !== "run") ids.forEach((id) => this.ticks.has(id) || this.ticks.set(id, this.freeColour()));
      if (kind === "run") this.table.cursor = ids[0];
      this.opened = { kind, ids, pane: new Pane({ id: ids[0], ids, board: this }) };
      put($("pane"), this.opened.pane.element);
      $("pane").scrollTop = 0;
      this.opened.pane.panel.draw();
    } else put($("pane"));
    this.draw();
    this.footer();
    if (kind === "run") this.table.rows.get(ids[0])?.element.scrollIntoView({ block: "nearest" });
    else if (!Pane) scrollTo(0, scrolled);
  }

  // -- ticked runs ----------------------------------------------------------------------------------

  tick(id) {
    if (this.ticks.has(id)) this.ticks.delete(id); else this.ticks.set(id, this.freeColour());
    this.ticked();
  }

  untick() { this.ticks.clear(); this.ticked(); }

  ticked() {
    if (this.opened?.kind === "curves" && this.ticks.size) this.open([...this.ticks.keys()], true, "curves");
    this.table.mark();
    this.opened?.pane.update();
    this.footer();
  }

  freeColour() {
    const used = new Set(this.ticks.values());
    for (let number = 0; number < COLOURS; number++) if (!used.has(number)) return number;
    return this.ticks.size % COLOURS;
  }

  colourOf(id) { return getComputedStyle(document.documentElement).getPropertyValue("--run" + (this.ticks.get(id) ?? 0)).trim(); }

  footer() {
    const ids = [...this.ticks.keys()];
    $("ticked").hidden = !ids.length;
    document.body.classList.toggle("ticking", ids.length > 0);
    const button = (text, key, action, disabled = false) => h("button", { type: "button", disabled, onclick: action }, text, " ", h("kbd", {}, key));
    put($("ticked"), h("b", {}, ids.length + " ticked"), button("curves", "c", () => this.open(ids, false, "curves")), button("compare", "d", () => this.compare(ids), ids.length !== 2),
      button("hide", "h", () => this.hide(ids)), button(this.filter.archived ? "bring back" : "archive", "e", () => this.archive(ids, this.filter.archived)), button("untick", "Esc", () => this.untick()));
  }

  hide(ids) {
    ids.forEach((id) => { this.store.hidden.add(id); this.ticks.delete(id); });
    announce(ids.length + " hidden until the page is loaded again");
    this.ticked();
    this.draw();
  }

  async archive(ids, back) {
    if (!ids.length) return;
    try {
      this.store.memory = await api.post("archive", { ids, back });
      this.store.archived = new Set(this.store.memory.archived);
      ids.forEach((id) => this.ticks.delete(id));
      announce(ids.length + (back ? " brought back" : " archived; no file was touched"));
    } catch (error) { announce(error.message); }
    this.ticked();
    this.draw();
  }

  async saveView() {
    try { this.store.memory = await api.post("view", { view: this.view }); } catch (error) { announce(error.message); }
  }

  isLive(id) { return Boolean(this.store.runs.get(id)?.live); }
  isArchived(id) { return this.store.archived.has(id); }
  kindOf(id) { return this.table.rows.get(id)?.element.dataset.kind ?? "soft"; }
}

const decode = (text) => { try { return decodeURIComponent(text); } catch { return text; } };

// What was kept, as far as it is what it should be.
function known(view) {
  const kept = {};
  if (["step", "time"].includes(view.axis)) kept.axis = view.axis;
  if (typeof view.log === "boolean") kept.log = view.log;
  if (view.smoothing >= 0 && view.smoothing <= 0.99) kept.smoothing = view.smoothing;
  if (view.order in ORDERS) kept.order = view.order;
  if (["", "light", "dark"].includes(view.theme)) kept.theme = view.theme;
  return kept;
}

new Board(JSON.parse($("first").textContent));
