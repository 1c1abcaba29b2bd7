// A verdict as `holdfast explain` gives it: what happened, why that is believed, and what to do.

import { copy, h, marked } from "./dom.js";

export function verdictView(verdict) {
  const { findings = [], warned = [], ruled_out: ruledOut = [], known = [], since_last_good: since = [] } = verdict;
  const live = verdict.outcome === "running" || verdict.outcome === "stalled";
  return [
    verdict.summary && h("p", { class: "summary" }, marked(verdict.summary)),
    !findings.length && !warned.length && h("div", { class: "finding normal" }, h("h3", {}, live ? "Nothing speaks against it so far" : "Nothing speaks against this run")),
    findings.slice(0, 1).map((one) => finding(one, true)),
    warned.length > 0 && h("div", { class: "finding" }, h("h3", {}, "What the framework warned of"), list(warned.map(fact))),
    findings.length > 1 && fold(`Also found (${findings.length - 1})`, findings.slice(1).map((one) => finding(one, false)), true),
    since.length > 0 && fold("What changed since the last good run", list(since.map(marked)), true),
    ruledOut.length > 0 && fold(`What was ruled out (${ruledOut.length})`, h("dl", { class: "pairs" }, ruledOut.map((one) => [h("dt", {}, one.cause), h("dd", {}, marked(one.why))]))),
    known.some((one) => one.fact) && fold("What else is known", list(known.filter((one) => one.fact).map(fact))),
  ];
}

function finding(one, first) {
  const kind = one.normal ? "normal" : one.strength === "possible" ? "possible" : first ? "first" : "";
  const code = (text) => {
    const button = h("button", { type: "button", class: "quiet", onclick: () => copy(text, button) }, "copy");
    return h("div", { class: "code" }, h("pre", {}, text), button);
  };
  return h("article", { class: "finding " + kind },
    h("h3", {}, marked(one.title)),
    h("p", { class: "tags" }, h("span", { class: "cause" }, one.cause), h("span", {}, one.strength), one.led_to && h("span", {}, "led to " + one.led_to)),
    one.remedies?.length > 0 && h("section", { class: "do" }, h("h4", {}, "Do"),
      h("ol", {}, one.remedies.map((remedy) => h("li", {}, marked(remedy.do), " ", h("small", {}, safety(remedy.safety)), remedy.code && code(remedy.code))))),
    one.because?.length > 0 && h("section", {}, h("h4", {}, "Because"), list(one.because.map(fact))),
    one.against?.length > 0 && h("section", {}, h("h4", {}, "Against"), list(one.against.map(fact))));
}

const safety = (word) => ({ automatic: "safe", "your-choice": "changes the result: your choice", guess: "a guess" })[word] ?? word ?? "";
const fact = (one) => [marked(one.fact), one.source && h("small", {}, " " + one.source)];
const list = (items) => h("ul", {}, items.map((item) => h("li", {}, item)));

export function fold(title, content, open = false) {
  return h("details", { open }, h("summary", {}, title), content);
}
