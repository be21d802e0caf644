// The page: settings and text make a scenario, a worker runs it, and what it leaves is drawn.

import * as engine from "./engine.js";
import * as link from "./link.js";
import { Run, mean, quantile, QUEUE, PAUSED } from "./run.js";
import { Topology } from "./topology.js";
import { overTime, completions, colour, meter } from "./charts.js";
import { sig, plain, bytes, bytesTick, gbps, count, percent, time, arrow, element } from "./words.js";

const $ = id => document.getElementById(id);
const text = $("text"), scrub = $("scrub"), slow = matchMedia("(prefers-reduced-motion: reduce)");

let presets = [], preset, changes = new Map(); // what controls changed; null: the text was edited by hand
let run, before, pinned;                       // the run on show, the finished one to compare with, whether that stays
let at = 0, playing = false, following = false, watched = -1;
let movers = [], moveFlows = () => {};
const topology = new Topology($("topology"), $("tip"), choose);

// Settings

function keys() { return preset ? preset.controls.map(control => control.key) : []; }

function readable(value) { return value.replace(/^\[(\d+)\]$/, "$1").replace(/"/g, "").replace(/(\d)(KB|MB|Gbps|ns|us|ms)$/, (_, d, u) => d + " " + (u === "Gbps" ? "Gb/s" : u === "us" ? "µs" : u)); }

function percentOf(control, value) { return control.key.endsWith(".load") ? Math.round(Number(value) * 100) + " %" : readable(value); }

function form(values) {
  const rows = preset.controls.map(control => {
    const value = values[control.key] ?? "";
    if (control.kind === "choice") {
      const group = element("fieldset", {}, element("legend", {}, control.label));
      const box = element("div", { class: "choices" });
      for (const option of control.options) {
        const input = element("input", { type: "radio", name: control.key, value: option.value });
        input.checked = option.value === value;
        input.addEventListener("change", () => change(control.key, option.value));
        box.append(element("label", {}, input, element("span", {}, option.word)));
      }
      group.append(box);
      return group;
    }
    const place = control.values.indexOf(value), output = element("output", {}, place < 0 ? readable(value || "default") : percentOf(control, value));
    const input = element("input", { type: "range", min: "0", max: String(control.values.length - 1), step: "1" });
    input.value = String(Math.max(0, place));
    input.dataset.key = control.key;
    input.setAttribute("aria-valuetext", output.textContent);
    input.addEventListener("input", () => {
      output.textContent = percentOf(control, control.values[input.value]);
      input.setAttribute("aria-valuetext", output.textContent);
      soon(() => change(control.key, control.values[input.value]));
    });
    return element("label", { class: "setting" }, element("span", {}, control.label), output, input);
  });
  const focus = document.activeElement && $("form").contains(document.activeElement) ? document.activeElement : null;
  const was = focus && (focus.dataset.key || focus.name + "=" + focus.value);
  $("form").replaceChildren(...rows);
  if (was) {
    const again = [...$("form").querySelectorAll("input")].find(input => (input.dataset.key || input.name + "=" + input.value) === was);
    if (again) again.focus();
  }
}

let timer;
function soon(what) { clearTimeout(timer); timer = setTimeout(what, 120); }

async function change(key, value) {
  const answer = await engine.ask("changed", [text.value, key, value]);
  if (answer.error) return refuse(answer.error);
  if (changes) {
    changes.set(key, value);
    const original = await engine.ask("checked", [preset.text, key]);
    if ((original.values[key] ?? "") === value) changes.delete(key);
  }
  offer(null);
  text.value = answer.text;
  await start();
}

async function choosePreset(name, wanted = new Map()) {
  const lost = edited();
  preset = presets.find(one => one.name === name) || presets[0];
  $("preset").value = preset.name;
  $("hint").textContent = preset.try;
  changes = wanted;
  const pairs = [...wanted].flat();
  const answer = pairs.length ? await engine.ask("changed", [preset.text, ...pairs]) : { text: preset.text };
  text.value = answer.text ?? preset.text;
  offer(lost);
  watched = -1;
  if (!pinned) before = null;
  await start();
}

// A text that no control and no preset makes again, with what stands beside it.
function edited() { return changes === null ? { text: text.value, preset, hint: $("hint").textContent } : null; }

// Offers a replaced text to be put back; without one there is nothing to undo. Whoever edits or chooses on has done without it.
function offer(lost) {
  const undo = lost && lost.text !== text.value && element("button", { type: "button" }, "Undo");
  $("replaced").replaceChildren(...(undo ? ["Your edited scenario was replaced.", undo] : []));
  if (undo) undo.addEventListener("click", () => putBack(lost));
}

async function putBack(lost) {
  preset = lost.preset;
  $("preset").value = preset.name;
  $("hint").textContent = lost.hint;
  changes = null;
  text.value = lost.text;
  watched = -1;
  $("preset").focus(); // the button that had it goes
  offer(null);
  await start();
}

// Texts

async function check() {
  const said = await engine.ask("checked", [text.value, ...keys()]);
  const problems = said.problems || [];
  const lines = new Set(problems.map(problem => problem.line));
  const numbers = text.value.split("\n").map((_, i) => element("span", { class: lines.has(i + 1) ? "wrong" : "" }, String(i + 1) + "\n"));
  $("gutter").replaceChildren(...numbers);
  $("gutter").scrollTop = text.scrollTop;
  $("problems").replaceChildren(...problems.map(problem => {
    const button = element("button", { type: "button" }, element("b", {}, `line ${problem.line}, column ${problem.column}`), " " + (problem.key ? problem.key + ": " : "") + problem.text);
    button.addEventListener("click", () => jump(problem.line, problem.column));
    return element("li", {}, button);
  }));
  text.setAttribute("aria-invalid", String(problems.length > 0));
  $("notes").replaceChildren(...(said.notes || []).map(note => element("li", {}, note)));
  $("run").disabled = problems.length > 0;
  return said;
}

function jump(line, column) {
  const lines = text.value.split("\n"), start = lines.slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0) + column - 1;
  text.focus();
  text.setSelectionRange(start, Math.min(start + 1, text.value.length));
  text.scrollTop = Math.max(0, (line - 6) * parseFloat(getComputedStyle(text).lineHeight));
}

function refuse(why) {
  $("refused").hidden = !why;
  $("refused").textContent = why || "";
}

// The object file of a congestion control becomes the law.
async function takeObject() {
  const file = $("object").files[0];
  if (!file) return;
  engine.give(file.name, await file.arrayBuffer());
  const had = (await engine.ask("checked", [text.value, "transport.params"])).values["transport.params"];
  const others = had ? ["transport.params", ""] : []; // parameters of another law
  const answer = await engine.ask("changed", [text.value, ...others, "transport.law", JSON.stringify("bpf:" + file.name)]);
  if (answer.error) return refuse(answer.error);
  changes = null;
  offer(null);
  text.value = answer.text;
  await start();
}

// Runs

async function start() {
  const said = await check();
  form(said.values);
  if (said.problems) {
    $("status").textContent = said.problems.length === 1 ? "The scenario has a problem" : `The scenario has ${said.problems.length} problems`;
    return;
  }
  history.replaceState(null, "", changes ? link.ofPreset(preset.name, changes) : await link.ofText(text.value));
  refuse("");
  // A run of another preset is no run before this one.
  if (run && run.end && !pinned && run.of === preset.name && run.text !== text.value) before = run;
  const mine = new Run(text.value);
  mine.of = preset.name;
  let shown = false;
  $("status").textContent = "Laying out";
  engine.run(text.value, heard => {
    if (heard.refused) { refuse(heard.refused); $("status").textContent = "Not run"; return; }
    if (heard.failed) { refuse(heard.failed); $("status").textContent = "Failed"; return; }
    if (heard.layout) { mine.lay(heard.layout); return; }
    if (heard.merge) {
      mine.merge();
      at = Math.floor(at / 2);
    }
    if (heard.frames) {
      mine.add(heard.frames);
      mine.ms = heard.ms;
      mine.hops = heard.hops || mine.hops;
    }
    if (heard.end) {
      mine.end = heard.end;
      mine.ms = heard.ms;
      mine.hops = heard.end.packet_hops;
    }
    if (!mine.frames.length) return;
    if (!shown) {
      shown = true;
      show(mine);
    } else if (run === mine) {
      grow(Boolean(heard.end));
    }
  });
}

function show(mine) {
  run = mine;
  at = 0;
  following = true;
  topology.lay(run);
  ports();
  playing = !slow.matches;
  buttons();
  grow(Boolean(run.end));
}

const halt = element("button", { type: "button", id: "halt" }, "Stop");
halt.addEventListener("click", () => {
  engine.stop();
  $("status").textContent = `Stopped at ${time(run.until, run.layout.stop_us)}; no digest and no flows, as the run has no end`;
  charts();
  move();
});

let drawn = 0;
function grow(ended) {
  scrub.max = String(run.last);
  const rate = run.ms ? run.hops / run.ms * 1e3 : 0;
  if (ended) {
    status(rate);
    if (slow.matches && following) at = worst();
    const warnings = run.end.warnings.concat(run.end.stall ? [run.end.stall] : []);
    $("notes").replaceChildren(...[...$("notes").children], ...warnings.map(w => element("li", { class: "warn" }, w)));
  } else {
    $("status").replaceChildren(`Simulating, ${time(run.until, run.layout.stop_us)}, ${count(run.hops)} packet-hops, ${sig(rate / 1e6)} M/s `, halt);
  }
  if (ended || performance.now() - drawn > 120) {
    charts();
    drawn = performance.now();
  }
  ports();
  move();
}

function status(rate) {
  const digest = element("code", { id: "digest" }, run.end.digest);
  $("status").replaceChildren("Digest ", digest, ` · seed ${run.layout.seed} · ${time(run.end.end_us)} in ${sig(run.ms / 1e3)} s · ${count(run.hops)} packet-hops, ${sig(rate / 1e6)} M/s`);
}

// The instant of the longest queue.
function worst() {
  let best = 0, most = -1;
  for (let i = 0; i <= run.last; i++) for (let p = 0; p < run.ports.length; p++) if (run.port(i, p, QUEUE) > most) { most = run.port(i, p, QUEUE); best = i; }
  return best;
}

// What is drawn

function ports() {
  const peaks = run.ports.map(port => [port.i, run.most(run.queue(port.i))]).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  if (watched < 0 || watched >= run.ports.length) watched = run.byName.get(preset.watch) ?? -1;
  const options = peaks.slice(0, 60).map(([i]) => i), chosen = watched >= 0 ? watched : options[0];
  if (!options.includes(chosen)) options.push(chosen);
  const select = $("port");
  if (document.activeElement !== select && select.dataset.has !== options.join()) {
    select.replaceChildren(...options.map(i => element("option", { value: String(i) }, arrow(run.ports[i].name))));
    select.dataset.has = options.join();
  }
  select.value = String(chosen);
  topology.chosen = chosen;
}

function choose(port) {
  watched = port;
  ports();
  charts();
  move();
}

function until() {
  return Math.max(run.end ? run.end.end_us : run.until, 1e-3);
}

function charts() {
  const place = $("charts"), times = run.times(), end = Math.max(until(), before ? Math.min(before.until, until() * 3) : 0), chosen = topology.chosen;
  const old = before && before.frames.length ? before : null;
  const figures = [];
  const add = (title, values, was, unit, tick, cls, limit) => {
    const peak = Math.max(run.most(values), was ? old.most(was) : 0);
    if (peak > 0 || figures.length < 2) figures.push({ title, lines: [{ values, at: times, class: cls }], ghost: was ? [{ values: was, at: old.times() }] : [], limit, unit, tick });
  };
  const name = run.ports[chosen].name, twin = old && old.byName.get(name);
  const short = bytesTick;
  add("Queue", run.queue(chosen), twin !== undefined && old ? old.queue(twin) : null, bytes, short, "kq");
  add("Goodput of all hosts", run.head(2), old && old.head(2), gbps, v => v === 0 ? "0" : v >= 1000 ? plain(v / 1000) + " T" : plain(v) + " G", "s0");
  add("Queued by destination, all racks", run.racksTotal(), old && old.racksTotal(), bytes, short, "kq");
  add("Ports paused", run.pausedShare(), old && old.pausedShare(), v => percent(v) + " of port time", v => plain(v) + " %", "kp");
  run.layout.memories.forEach((memory, m) => {
    const same = old && old.layout.memories[m] ? old : null, of = run.layout.memories.length > 1 ? " of " + run.layout.names[memory.host] : "";
    add("NIC buffer" + of, run.memory(m, 0), same && same.memory(m, 0), bytes, short, "kq", memory.buffer);
    add("IIO slots" + of, run.memory(m, 1), same && same.memory(m, 1), v => `${sig(v)} of ${memory.slots}`, plain, "s2", memory.slots);
    add("Throttle level" + of, run.memory(m, 4), same && same.memory(m, 4), sig, plain, "s4");
  });
  add("Marked packets", run.head(3), old && old.head(3), v => count(v) + " in this step", count, "s5");
  add("Dropped by ports", run.head(4), old && old.head(4), v => count(v) + " in this step", count, "s7");
  while (place.children.length > figures.length) place.lastChild.remove();
  while (place.children.length < figures.length) place.append(element("div", { class: "over-time" }));
  movers = figures.map((figure, i) => overTime(place.children[i], { ...figure, until: end, seek, axis: i === figures.length - 1, height: (figures.length < 4 ? 140 : 104) + (i === figures.length - 1 ? 14 : 0) }));
  flows(end);
  $("against").textContent = !old ? "" : pinned ? "Grey lines: the run kept as reference." : "Grey lines: the run before.";
  document.body.classList.toggle("pauses", run.most(run.pausedShare()) > 0);
  document.body.classList.toggle("drops", run.most(run.head(4)) > 0);
  $("scale").textContent = bytes(run.peak) + " (square root)";
}

function flows(end) {
  const place = $("flows-chart"), rates = [...run.rates()].filter(([, values]) => values.some(v => v > 0));
  const finite = run.end && run.end.flows.size.some((size, i) => size !== null && run.end.flows.slowdown[i] !== null);
  if (finite) {
    $("flows-title").textContent = "Flow completion times";
    moveFlows = completions(place, run, before, end);
    const f = run.end.flows, open = f.size.filter((size, i) => size !== null && f.done_us[i] === null).length;
    const lost = f.timeouts.reduce((a, b) => a + b, 0);
    $("flows-note").textContent = `${count(f.size.length - open)} flows completed` + (open ? `, ${count(open)} did not` : "") + (lost ? `; ${count(lost)} retransmission timeouts` : "") + ". Each dot is a flow; p50 and p99 of all, in grey of the run compared with.";
    return;
  }
  $("flows-title").textContent = run.hasCollectives() ? "Collective" : "Rates of flows";
  const shown = rates.map(([flow, values]) => ({ flow, values, sum: values.reduce((a, b) => a + b, 0) })).sort((a, b) => a.flow - b.flow);
  const lines = (shown.length > 8 ? shown.sort((a, b) => b.sum - a.sum).slice(0, 8).sort((a, b) => a.flow - b.flow) : shown).map(({ flow, values }) => ({ raw: values, values: smooth(values), at: run.times(), class: colour(entry(flow)), name: called(flow) }));
  const old = before && before.frames.length ? [...before.rates().values()].slice(0, 8).map(values => ({ values: smooth(values), at: before.times() })) : [];
  moveFlows = overTime(place, { title: "Acknowledged payload of each flow, Gb/s", lines, ghost: old, unit: gbps, tick: v => plain(v), until: end, height: 320, seek, axis: true });
  const more = shown.length > lines.length ? ` ${shown.length - lines.length} more flows are not drawn.` : "";
  if (run.hasCollectives()) {
    $("flows-note").textContent = collectives(run.end.collectives) + more;
    return;
  }
  const steady = run.end ? lines.map(({ raw }) => raw.slice(raw.length >> 1).reduce((a, b) => a + b, 0) / Math.max(1, raw.length - (raw.length >> 1))) : [];
  $("flows-note").textContent = steady.length ? `Means of the second half: ${steady.map((rate, i) => `${lines[i].name} ${sig(rate)}`).join(", ")} Gb/s.` + more : "";
}

// How long collectives took, in a sentence or two.
function collectives(all) {
  const took = run.completed(), open = all.start_us.length - took.length, which = all.done_us.flatMap((done, i) => done === null ? [] : [i]);
  const left = open ? `${open === 1 ? "The collective" : `${count(open)} collectives`} had not ended when the run did.` : "";
  if (!took.length) return left;
  const rate = gbps(mean(which.map(i => all.busbw_gbps[i]))), last = all.last_rank[which[which.length - 1]];
  const said = took.length === 1 ? `The collective took ${time(took[0])}, with a bus bandwidth of ${rate}. ${last} was the last rank.`
    : `${count(took.length)} collectives took ${time(mean(took))} on average, with a bus bandwidth of ${rate}. ${last} was the last rank of the last one.`;
  return left ? said + " " + left : said;
}

// Means over a sixtieth of the run: single frames of a window that is half a round trip long jump between 0 and line rate.
function smooth(values) {
  const half = Math.max(1, Math.round(values.length / 120));
  const sums = [0];
  for (const v of values) sums.push(sums[sums.length - 1] + v);
  return values.map((_, i) => { const a = Math.max(0, i - half), b = Math.min(values.length, i + half + 1); return (sums[b] - sums[a]) / (b - a); });
}

function entry(flow) {
  if (!run.end) return 0;
  const i = run.end.flows.flow.indexOf(flow);
  return i < 0 ? 0 : run.end.flows.traffic[i];
}

function called(flow) {
  const i = run.end ? run.end.flows.flow.indexOf(flow) : -1;
  if (i < 0) return "flow " + flow;
  const { laws } = run.layout, { traffic, dst } = run.end.flows;
  if (new Set(laws).size > 1) return laws[traffic[i]].toUpperCase();
  // Names without what all of them have in common.
  const last = name => name.split(".").pop(), same = new Set(dst.map(last)).size === new Set(dst).size;
  return `${flow}: to ${same ? last(dst[i]) : dst[i]}`;
}

// Everything that depends on the instant.
function move() {
  if (!run || !run.frames.length) return;
  at = Math.max(0, Math.min(run.last, at));
  const i = Math.round(at), us = run.time(i);
  scrub.value = String(i);
  $("now").textContent = time(us, until());
  scrub.setAttribute("aria-valuetext", time(us, until()));
  topology.draw(i);
  movers.forEach(mover => mover(us, i));
  moveFlows(us, i);
  numbers(i, us);
  inside(i);
}

function numbers(i, us) {
  const old = before && before.frames.length ? before : null, k = old ? old.at(us) : 0;
  let most = -1, where = 0, paused = 0;
  for (let p = 0; p < run.ports.length; p++) {
    const queue = run.port(i, p, QUEUE);
    if (queue > most) { most = queue; where = p; }
    if (run.port(i, p, PAUSED) > 0.005) paused += 1;
  }
  const biggest = r => (frame => { let m = 0; for (let p = 0; p < r.ports.length; p++) m = Math.max(m, r.port(frame, p, QUEUE)); return m; });
  const tiles = [
    ["Goodput", gbps(run.head(2)[i]), old && gbps(old.head(2)[k])],
    ["Largest queue", bytes(most), old && bytes(biggest(old)(k))],
    ["Marked so far", count(run.total(3)[i]), old && count(old.total(3)[k])],
    ["Dropped so far", count(run.total(4)[i]), old && count(old.total(4)[k])],
  ];
  if (document.body.classList.contains("pauses")) tiles.push(["Ports paused", percent(run.pausedShare()[i]), old && percent(old.pausedShare()[k])]);
  if (run.hasCollectives()) {
    const took = mean(run.completed(us)), was = old && mean(old.completed());
    tiles.push(["Completion", took === null ? "–" : time(took), old && (was === null ? "–" : time(was))]);
  }
  const slow = run.slowdowns(us);
  if (slow.length || !run.layout.memories.length && run.end && run.end.flows.size.some(size => size !== null)) {
    const tail = quantile(slow, 99), was = old && quantile(old.slowdowns(us), 99);
    tiles.push(["p99 slowdown", tail === null ? "–" : sig(tail) + "×", old && (was === null ? "–" : sig(was) + "×")]);
  }
  $("tiles").replaceChildren(...tiles.map(([name, value, was]) => element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, was ? (pinned ? "reference " : "before ") + was : "\u00a0")))));
  const said = [most > 0 ? `The largest queue, ${bytes(most)}, stands at ${arrow(run.ports[where].name)}.` : "All queues are empty."];
  if (paused) said.push(`${paused} of ${run.ports.length} ports are paused in this step.`);
  const live = run.frames[i][6];
  said.push(`${count(live)} ${live === 1 ? "flow is" : "flows are"} in progress.`);
  $("instant").textContent = `At ${time(us, until())}: ${said.join(" ")}`;
  $("topology").setAttribute("aria-label", "Topology. " + $("instant").textContent);
}

function inside(i) {
  const place = $("inside");
  place.hidden = !run.layout.memories.length;
  if (place.hidden) return;
  place.replaceChildren(...run.layout.memories.slice(0, 2).map((memory, m) => {
    const [buffered, slots, pcie, , level] = [0, 1, 2, 3, 4].map(k => run.memory(m, k)[i]);
    const drops = run.end && run.end.host_drops[m], said = drops === null ? "" : drops ? ` (its NIC dropped ${count(drops)} packets in this run)` : " (its NIC dropped nothing in this run)";
    return element("div", {}, element("h3", {}, "Inside " + run.layout.names[memory.host] + said), element("div", { class: "meters" },
      meter("NIC buffer", `${bytes(buffered)} of ${bytes(memory.buffer)}`, buffered / memory.buffer, true),
      meter("PCIe", gbps(pcie), pcie / 128),
      meter("IIO slots", `${sig(slots)} of ${memory.slots}`, slots / memory.slots, true),
      meter("Throttle level", sig(level), level / 4)));
  }));
}

// Time

function seek(us) { stop(); at = run.at(us); move(); }
function stop() { playing = false; following = false; buttons(); }
function buttons() {
  $("play").textContent = playing ? "❚❚" : "▶︎";
  $("play").setAttribute("aria-label", playing ? "Pause" : "Play");
}
function toggle() {
  if (!run) return;
  if (!playing && at >= run.last && run.end) at = 0;
  playing = !playing;
  following = false;
  buttons();
}

let then = performance.now();
function tick(now) {
  const passed = Math.min(100, now - then);
  then = now;
  if (playing && run && run.frames.length) {
    // At 1x a whole run takes ten seconds.
    const rate = (run.end ? run.last : 400) / 10e3 * Number($("speed").value), was = Math.round(at);
    at = Math.min(run.last, at + passed * rate);
    if (Math.round(at) !== was) move();
    if (at >= run.last && run.end) { playing = false; buttons(); }
  }
  requestAnimationFrame(tick);
}

// Whole page

let toastTimer;
async function copied(button, what) {
  try {
    await navigator.clipboard.writeText(what);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed to copy";
  }
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { button.textContent = button.dataset.label; }, 1600);
}

function listen() {
  $("preset").addEventListener("change", () => choosePreset($("preset").value));
  for (const id of ["share", "copy"]) $(id).dataset.label = $(id).textContent;
  $("share").addEventListener("click", () => copied($("share"), location.href));
  $("copy").addEventListener("click", () => copied($("copy"), text.value));
  $("pin").addEventListener("click", () => {
    pinned = !pinned;
    if (pinned && run && run.end) before = run;
    $("pin").setAttribute("aria-pressed", String(Boolean(pinned)));
    $("pin").textContent = pinned ? "Reference kept" : "Keep as reference";
    if (run) { charts(); move(); }
  });
  $("port").addEventListener("change", () => choose(Number($("port").value)));
  $("play").addEventListener("click", toggle);
  $("back").addEventListener("click", () => { stop(); at = Math.round(at) - 1; move(); });
  $("next").addEventListener("click", () => { stop(); at = Math.round(at) + 1; move(); });
  scrub.addEventListener("input", () => { stop(); at = Number(scrub.value); move(); });
  $("run").addEventListener("click", start);
  $("object").addEventListener("change", takeObject);
  // The same file again is a change too: it may have been compiled since.
  $("object").addEventListener("click", () => { $("object").value = ""; });
  let typing;
  text.addEventListener("input", () => { changes = null; offer(null); clearTimeout(typing); typing = setTimeout(check, 200); });
  text.addEventListener("scroll", () => { $("gutter").scrollTop = text.scrollTop; });
  text.addEventListener("keydown", event => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); start(); } });
  document.addEventListener("keydown", event => {
    if (event.altKey || event.ctrlKey || event.metaKey || !run) return;
    const where = event.target;
    if (where.closest("textarea, select, #form") || (where.closest("button") && (event.key === " " || event.key === "Enter"))) return;
    const to = { ArrowLeft: Math.round(at) - 1, ArrowRight: Math.round(at) + 1, Home: 0, End: run.last }[event.key];
    if (event.key === " ") toggle(); else if (to !== undefined) { stop(); at = to; move(); } else return;
    event.preventDefault();
  });
  let width = innerWidth;
  const again = () => { if (run) { topology.colours(); topology.lay(run); charts(); move(); } };
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; soonResize(again); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  addEventListener("hashchange", open);
}

let resizing;
function soonResize(what) { clearTimeout(resizing); resizing = setTimeout(what, 80); }

async function open() {
  const wanted = await link.read(location.hash);
  if (wanted && wanted.text !== undefined) {
    const lost = edited();
    preset = presets[0];
    $("preset").value = preset.name;
    $("hint").textContent = "A scenario from a link.";
    changes = null;
    text.value = wanted.text;
    offer(lost);
    await start();
  } else {
    const known = wanted && presets.some(one => one.name === wanted.preset);
    await choosePreset(known ? wanted.preset : presets[0].name, known ? wanted.changes : new Map());
  }
}

try {
  await engine.load();
  presets = await engine.ask("presets");
  $("preset").replaceChildren(...presets.map(one => element("option", { value: one.name }, one.title)));
  listen();
  await open();
  requestAnimationFrame(tick);
} catch (error) {
  refuse(`The simulator did not load (${error.message}). The page needs playground.wasm beside it and a web server: forebay play.`);
  $("status").textContent = "Not loaded";
}
