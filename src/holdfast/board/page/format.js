// Numbers as people read them.

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"];

export function size(bytes) {
  if (bytes == null) return "";
  let unit = 0;
  while (Math.abs(bytes) >= 1000 && unit < SIZES.length - 1) { bytes /= 1024; unit++; }
  return bytes.toFixed(unit && Math.abs(bytes) < 100 ? 1 : 0) + " " + SIZES[unit];
}

export function span(s) { // two units at most
  if (s == null) return "";
  s = Math.round(s);
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min" + (s < 600 && s % 60 ? " " + (s % 60) + " s" : "");
  if (s < 172800) return Math.floor(s / 3600) + " h" + (Math.floor(s / 60) % 60 ? " " + (Math.floor(s / 60) % 60) + " min" : "");
  return Math.floor(s / 86400) + " days";
}

export function age(at, now) { // short: every row has one
  const s = Math.max(0, now - at);
  if (!at) return "";
  if (s < 10) return "now";
  if (s < 60) return Math.floor(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min";
  if (s < 86400) return Math.floor(s / 3600) + " h";
  if (s < 86400 * 60) return Math.floor(s / 86400) + " d";
  return new Date(at * 1000).toLocaleDateString(undefined, { year: "2-digit", month: "short" });
}

export function value(number) {
  if (number == null) return "–";
  const by = Math.abs(number);
  if (by !== 0 && (by >= 1e6 || by < 1e-3)) return Number(number.toExponential(2)).toExponential();
  return String(Number(number.toPrecision(4)));
}

export function withUnit(number, unit) {
  if (number == null) return "–";
  if (unit === "bytes") return size(number);
  if (unit === "bytes/s") return size(number) + "/s";
  if (unit === "s") return number < 1 ? value(number * 1000) + " ms" : value(number) + " s";
  if (unit === "cores") return Number(number.toPrecision(2)) + " cores";
  return value(number) + (unit && unit !== "/s" ? " " + unit : unit);
}

export function clock(s) {
  const two = (n) => String(n).padStart(2, "0"), sign = s < 0 ? "-" : "";
  s = Math.abs(s);
  const hours = Math.floor(s / 3600), minutes = Math.floor(s / 60) % 60, seconds = Math.floor(s % 60);
  return sign + (hours ? hours + ":" + two(minutes) + ":" + two(seconds) : minutes + ":" + two(seconds));
}

export const count = (number) => (number ?? 0).toLocaleString("en");
export const compact = (number) => number >= 1e6 ? +(number / 1e6).toPrecision(3) + "M" : number >= 1e4 ? +(number / 1e3).toPrecision(3) + "k" : String(number);
