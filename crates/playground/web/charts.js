// Lines over time and flow completion times, in SVG at the width that there is: type is never scaled.

import { plain, bytesTick, timeTick, element } from "./words.js";
import { quantile } from "./run.js";

const NS = "http://www.w3.org/2000/svg";

function svg(name, attributes = {}, text) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Round values from 0 to at least `most`, about `n` of them.
function ticks(most, n) {
  const raw = most / n, size = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map(k => k * size).find(s => s >= raw);
  const found = [];
  for (let v = 0; v <= most * 1.0001; v += step) found.push(v);
  return found;
}

function logTicks(low, high) {
  const found = [];
  for (let size = 10 ** Math.floor(Math.log10(low)); size <= high; size *= 10) {
    for (const k of [1, 2, 5]) if (k * size >= low * 0.999 && k * size <= high * 1.001) found.push(k * size);
  }
  return found.length > 7 ? found.filter(v => Number.isInteger(Math.log10(v) + 1e-9) || Math.abs(Math.log10(v) % 1) < 1e-9) : found;
}

let made = 0;

// A figure over time. `lines`: { values, at, class, name }; `ghost` likewise; returns how to move its cursor.
export function overTime(place, { title, lines, ghost = [], limit, unit, tick, until, height = 104, seek, axis }) {
  const width = place.clientWidth, left = 54, right = lines.some(l => l.name) ? Math.min(136, width * 0.34) : 8, top = 22, bottom = axis ? 22 : 8;
  const w = Math.max(40, width - left - right), h = height - top - bottom;
  const whole = lines.concat(ghost), most = Math.max(1e-9, limit || 0, ...whole.map(line => line.values.reduce((a, b) => Math.max(a, b), 0)));
  const marks = ticks(most * 1.02, height > 200 ? 6 : 3), high = Math.max(most * 1.02, marks[marks.length - 1]);
  const x = us => left + w * Math.min(1, us / until), y = v => top + h * (1 - v / high);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title });
  for (const mark of marks) {
    root.append(svg("path", { class: "grid", d: `M${left} ${y(mark).toFixed(1)}H${left + w}` }));
    root.append(svg("text", { class: "tick end", x: left - 6, y: y(mark) + 4 }, tick(mark)));
  }
  if (axis) {
    const [scale, name] = until >= 2e6 ? [1e6, "s"] : until >= 2e3 ? [1e3, "ms"] : [1, "µs"];
    const at = ticks(until / scale, width < 420 ? 3 : 5);
    at.forEach((v, i) => {
      const px = x(v * scale), last = i === at.length - 1;
      root.append(svg("text", { class: "tick " + (i && px > left + w - 16 ? "end" : i ? "mid" : ""), x: i && px > left + w - 16 ? left + w : px, y: height - 6 }, plain(v) + (last ? " " + name : "")));
    });
  }
  if (limit) root.append(svg("path", { class: "rule", d: `M${left} ${y(limit).toFixed(1)}H${left + w}` }));
  const steps = line => {
    let d = "";
    line.values.forEach((v, i) => { d += (i ? "L" : "M") + x(line.at[i]).toFixed(1) + " " + y(v).toFixed(1); });
    return d;
  };
  for (const line of ghost) if (line.values.length) root.append(svg("path", { class: "ghost", d: steps(line) }));
  const clip = "past" + (made += 1), rect = svg("rect", { x: 0, y: 0, width, height }), defs = svg("clipPath", { id: clip });
  defs.append(rect);
  root.append(defs);
  for (const line of lines) {
    if (!line.values.length) continue;
    const d = steps(line);
    root.append(svg("path", { class: "line thin later " + line.class, d }));
    const past = svg("g", { "clip-path": `url(#${clip})` });
    if (lines.length === 1) past.append(svg("path", { class: "under " + line.class, d: d + `V${y(0)}H${x(line.at[0]).toFixed(1)}Z` }));
    past.append(svg("path", { class: "line thin " + line.class, d }));
    root.append(past);
  }
  root.append(svg("path", { class: "axis", d: `M${left} ${y(0).toFixed(1)}H${left + w}` }));
  const cursor = svg("path", { class: "cursor" }), name = svg("text", { class: "label", x: 0, y: 13 }, title), value = svg("text", { class: "value end", x: left + w, y: 13 });
  root.append(cursor, name, value);
  const labels = lines.filter(line => line.name).map(line => ({ line, at: y(line.values[line.values.length - 1] || 0) })).sort((a, b) => a.at - b.at);
  for (let i = 1; i < labels.length; i++) labels[i].at = Math.max(labels[i].at, labels[i - 1].at + 14);
  const over = labels.length ? labels[labels.length - 1].at - (top + h) : 0;
  labels.forEach((label, i) => {
    const at = Math.max(top + 4 + 14 * i, label.at - Math.max(0, over));
    root.append(svg("path", { class: "line " + label.line.class, d: `M${left + w + 6} ${at.toFixed(1)}h8` }));
    root.append(svg("text", { class: "who", x: left + w + 19, y: at + 4 }, cut(label.line.name, right - 20)));
  });
  const pointer = event => seek(Math.max(0, Math.min(1, (event.clientX - root.getBoundingClientRect().left - left) / w)) * until);
  root.addEventListener("pointerdown", event => { if (event.button === 0) { pointer(event); root.setPointerCapture(event.pointerId); } });
  root.addEventListener("pointermove", event => { if (event.buttons & 1) pointer(event); });
  place.replaceChildren(root);
  return (us, i) => {
    cursor.setAttribute("d", `M${x(us).toFixed(1)} ${top - 2}V${top + h}`);
    rect.setAttribute("width", x(us) + 0.5);
    if (lines.length === 1) value.textContent = lines[0].values.length ? unit(lines[0].values[Math.min(i, lines[0].values.length - 1)]) : "";
  };
}

function cut(text, width) {
  const most = Math.floor(width / 6);
  return text.length <= most ? text : text.slice(0, most - 1) + "…";
}

const CLASSES = ["s0", "s1", "s2", "s3", "s4", "s5", "s7"];
export const colour = i => CLASSES[i % CLASSES.length];

// Slowdown of every complete flow: over size where sizes differ, else over the time of completion. Returns how to move the cursor.
export function completions(place, run, before, until) {
  const flows = run.end.flows, width = place.clientWidth, height = 320, left = 44, right = 56, top = 26, bottom = 40;
  const w = width - left - right, h = height - top - bottom;
  const rows = pick(flows), ghosts = before && before.end ? pick(before.end.flows) : [];
  const bySize = new Set(rows.map(r => r.size)).size > 12;
  const of = r => bySize ? Math.log10(r.size) : r.done;
  const all = rows.concat(ghosts), xs = all.map(of), most = Math.max(2, ...all.map(r => r.slowdown)) * 1.1;
  const [low, high] = bySize ? [Math.floor(Math.min(...xs)), Math.max(...xs) + 0.05] : [0, until];
  const x = r => left + w * (of(r) - low) / (high - low), y = s => top + h * (1 - Math.log10(Math.max(1, s)) / Math.log10(most));
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "Slowdown of flows" });
  root.append(svg("text", { class: "title", x: 0, y: 13 }, "Slowdown (FCT / ideal FCT), log scale"));
  for (const mark of logTicks(1, most)) {
    root.append(svg("path", { class: "grid", d: `M${left} ${y(mark).toFixed(1)}H${left + w}` }));
    root.append(svg("text", { class: "tick end", x: left - 6, y: y(mark) + 4 }, plain(mark)));
  }
  const marks = bySize ? Array.from({ length: Math.floor(high) - low + 1 }, (_, i) => low + i) : ticks(until, 5);
  for (const mark of marks) {
    const px = left + w * (mark - low) / (high - low);
    root.append(svg("text", { class: "tick mid", x: px, y: height - 22 }, bySize ? bytesTick(10 ** mark) : timeTick(mark, until)));
  }
  root.append(svg("text", { class: "title mid", x: left + w / 2, y: height - 5 }, bySize ? "Flow size, log scale" : "Completed at"));
  root.append(svg("path", { class: "axis", d: `M${left} ${top + h}H${left + w}` }));
  const dots = rows.map(r => {
    const dot = svg("circle", { class: "flow " + colour(r.traffic), cx: x(r).toFixed(1), cy: y(r.slowdown).toFixed(1), r: rows.length > 400 ? 1.8 : 2.6 });
    root.append(dot);
    return [r.done, dot];
  });
  const names = [];
  for (const percent of [50, 99]) {
    for (const [set, cls] of [[ghosts, "ghost strong"], [rows, "line " + (percent === 99 ? "p99" : "p50")]]) {
      const curve = bySize ? bySizes(set, percent, low, high) : byTime(set, percent);
      if (!curve.length) continue;
      const at = p => [left + w * (p[0] - low) / (high - low), y(p[1])];
      root.append(svg("path", { class: cls, d: curve.map((p, i) => (i ? "L" : "M") + at(p).map(v => v.toFixed(1)).join(" ")).join("") }));
      if (set === rows) names.push({ text: "p" + percent, at: at(curve[curve.length - 1]) });
    }
  }
  names.sort((a, b) => a.at[1] - b.at[1]);
  names.forEach((name, i) => {
    const py = i ? Math.max(name.at[1], names[i - 1].at[1] + 15) : name.at[1];
    name.at[1] = py;
    root.append(svg("text", { class: "label", x: Math.min(name.at[0] + 6, width - 34), y: py + 4 }, name.text));
  });
  place.replaceChildren(root);
  return us => { for (const [done, dot] of dots) dot.style.opacity = done <= us + 1e-6 ? "" : "0.12"; };
}

function pick(flows) {
  const rows = [];
  flows.slowdown.forEach((slowdown, i) => {
    if (slowdown !== null && flows.size[i] !== null) rows.push({ slowdown, size: flows.size[i], done: flows.done_us[i], traffic: flows.traffic[i] });
  });
  return rows;
}

// Percentiles in about ten groups of sizes that hold as many flows each.
function bySizes(rows, percent) {
  const sorted = rows.slice().sort((a, b) => a.size - b.size), groups = Math.max(1, Math.min(10, Math.floor(sorted.length / 15))), points = [];
  for (let g = 0; g < groups; g++) {
    const group = sorted.slice(Math.floor(sorted.length * g / groups), Math.floor(sorted.length * (g + 1) / groups));
    if (!group.length) continue;
    const slow = group.map(r => r.slowdown).sort((a, b) => a - b);
    points.push([Math.log10(group[group.length >> 1].size), quantile(slow, percent)]);
  }
  return points;
}

// Percentiles of all flows complete by then.
function byTime(rows, percent) {
  const sorted = rows.slice().sort((a, b) => a.done - b.done), points = [], so_far = [];
  const every = Math.max(1, Math.floor(sorted.length / 60));
  sorted.forEach((row, i) => {
    so_far.push(row.slowdown);
    if (i % every === 0 || i === sorted.length - 1) points.push([row.done, quantile(so_far.slice().sort((a, b) => a - b), percent)]);
  });
  return points;
}

// A bar beside its number; `limit`: at its end it is red.
export function meter(label, text, share, limit) {
  const bar = element("i");
  bar.style.width = Math.max(0, Math.min(100, share * 100)) + "%";
  if (limit && share > 0.98) bar.className = "full";
  return element("div", { class: "meter" }, element("span", {}, label), element("b", {}, text), element("span", { class: "track" }, bar));
}
