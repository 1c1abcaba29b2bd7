// The keyboard, and the page that lists its keys.

import { h, put } from "./dom.js";

export class Keyboard {
  // keys: [[keys, what they do, action]]
  constructor({ groups, dialog }) {
    this.actions = new Map(groups.flatMap(([, keys]) => keys.flatMap(([names, , action]) => names.map((name) => [name, action]))));
    put(dialog, h("form", { method: "dialog" }, h("header", {}, h("h2", {}, "Keyboard"), h("button", { class: "quiet", "aria-label": "close" }, "✕")),
      h("div", { class: "keys" }, groups.map(([title, keys]) => h("section", {}, h("h3", {}, title), h("dl", {}, keys.map(([names, does]) => [h("dt", {}, names.map((name) => h("kbd", {}, SHOWN[name] ?? name))), h("dd", {}, does)])))))));
    addEventListener("keydown", (event) => this.pressed(event, dialog));
  }

  pressed(event, dialog) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input:not([type=checkbox]):not([type=range]), select, textarea");
    if (typing) {
      if (event.key === "Escape") typing.blur();
      if (event.key === "Enter" && typing.id === "find") { typing.blur(); event.preventDefault(); }
      return;
    }
    if (dialog.open) { if (event.key === "?") dialog.close(); return; }
    if (event.key === "Enter" && event.target.closest("a, button, summary, input")) return;
    const action = this.actions.get(event.key);
    if (!action) return;
    event.preventDefault();
    action(event);
  }
}

const SHOWN = { ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc" };
