// Numbers as people read them: three significant digits, decimal prefixes.

export function sig(value) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 999.5) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3);
}

// For axes: no zeros that say nothing.
export const plain = value => sig(value).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

function scaled(value, unit, names) {
  let k = 0;
  while (Math.abs(value) >= 999.5 && k + 1 < names.length) { value /= 1000; k += 1; }
  return [sig(value), names[k] + unit];
}

const PREFIXES = ["", "K", "M", "G"];
export const bytesTick = value => value === 0 ? "0" : (([v, unit]) => v.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "") + " " + unit)(scaled(value, "B", PREFIXES));
export const bytes = value => scaled(value, "B", PREFIXES).join(" ");
export const gbps = value => scaled(value * 1e9, "b/s", ["", "K", "M", "G", "T"]).join(" ");
export const count = value => value >= 1e5 ? scaled(value, "", ["", " K", " M", " G"]).join("") : Math.round(value).toLocaleString("en-US");
export const percent = value => sig(value) + " %";

// The same for axes.
export function timeTick(us, span) {
  const [scale, name] = span >= 2e6 ? [1e6, "s"] : span >= 2e3 ? [1e3, "ms"] : [1, "µs"];
  return plain(us / scale) + " " + name;
}

// A time in us, in the unit that suits `span`.
export function time(us, span = us) {
  if (span >= 2e6) return sig(us / 1e6) + " s";
  if (span >= 2e3) return (us / 1e3).toFixed(span >= 1e5 ? 1 : span >= 1e4 ? 2 : 3) + " ms";
  return us.toFixed(span >= 100 ? 1 : 2) + " µs";
}

export const arrow = name => name.replace("->", " → ");

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value; else if (key in made && typeof value !== "string") made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
