// Requests to the board. All of them answer at once: nothing is held open, so ten tabs do not wait for each other.

export class NoAnswer extends Error {}

async function get(path, query = {}) {
  let response;
  try {
    response = await fetch(path + "?" + new URLSearchParams(query), { cache: "no-store" });
  } catch {
    throw new NoAnswer("The board does not answer: it has ended, or is being started again.");
  }
  if (!response.ok) throw new Error((await response.text()) || "The board answered " + response.status + ".");
  return response.json();
}

export const changes = (since, memory) => get("changes", { since, memory });
export const run = (id) => get("run", { id });
export const verdict = (id) => get("verdict", { id });
export const curves = (id, have) => get("curves", { id, have });
export const compare = (older, newer) => get("compare", { old: older, new: newer });

export async function post(path, content) {
  const response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

// Calls `work` now and then every `everyS` seconds until `stop()`, slowly while the page is not seen.
export function repeat(work, everyS) {
  let timer = null, stopped = false, again = everyS;
  async function round() {
    try { again = (await work()) ?? everyS; } finally {
      if (!stopped) timer = setTimeout(round, 1000 * (document.hidden ? Math.max(again, 10) : again));
    }
  }
  const wake = () => { if (!document.hidden && !stopped) { clearTimeout(timer); round(); } };
  document.addEventListener("visibilitychange", wake);
  round();
  return () => { stopped = true; clearTimeout(timer); document.removeEventListener("visibilitychange", wake); };
}
