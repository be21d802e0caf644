"use strict";
// The simulator in a thread of its own: answers about texts, and one run. Whoever started it ends it with terminate().
let core;

// What texts ask, as JSON.
function ask(what, texts) {
  const bytes = new TextEncoder().encode(texts.join("\0"));
  const at = core.input(bytes.length);
  new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
  core[what]();
  return JSON.parse(new TextDecoder().decode(output()));
}

// A file that scenarios may name.
function take({ name, bytes }) {
  const first = new TextEncoder().encode(name + "\0");
  const at = core.input(first.length + bytes.byteLength);
  new Uint8Array(core.memory.buffer, at, first.length).set(first);
  new Uint8Array(core.memory.buffer, at + first.length, bytes.byteLength).set(new Uint8Array(bytes));
  core.file();
}

function output() {
  return new Uint8Array(core.memory.buffer, core.output(), core.output_bytes()).slice();
}

// Runs with more frames than this have every second one merged with the one before, and go on in steps twice as long.
const MOST = 480;
const FIRST_STEP = 4096;

function run(text) {
  const started = performance.now();
  const layout = ask("start", [text]);
  if (layout.error || layout.problems) return postMessage({ refused: layout.error || "the scenario has problems", problems: layout.problems });
  postMessage({ layout });
  let step = layout.stop_us / FIRST_STEP, count = 0, frames = [], told = performance.now(), over = false;
  const tell = () => {
    postMessage({ frames, hops: frames.length ? frames[frames.length - 1][7] * 1e6 : 0, ms: performance.now() - started }, frames.map(f => f.buffer));
    frames = [];
    told = performance.now();
  };
  while (!over) {
    core.advance((count + 1) * step);
    const frame = new Float32Array(output().buffer);
    frames.push(frame);
    count += 1;
    over = frame[1] > 0;
    if (count === MOST && !over) {
      tell();
      postMessage({ merge: true });
      count /= 2;
      step *= 2;
    } else if (performance.now() - told > 40) {
      tell();
    }
  }
  const ms = performance.now() - started;
  tell();
  postMessage({ end: ask("finish", []), ms });
}

onmessage = async ({ data }) => {
  try {
    if (data.module) core = (await WebAssembly.instantiate(data.module, {})).exports;
    for (const file of data.files || []) take(file);
    if (data.ask) postMessage({ id: data.id, answer: ask(data.ask, data.texts) });
    if (data.run !== undefined) run(data.run);
  } catch (error) {
    let said = "";
    try { said = new TextDecoder().decode(output()); } catch { /* the trap's own words have to do */ }
    const memory = /memory|allocat|RangeError/i.test(String(error)) || /capacity|alloc/i.test(said);
    const text = memory ? "the run needs more memory than a page has; a shorter run or a smaller fabric needs less"
      : "the simulator failed: " + (said.includes("panicked") ? said : String(error)) + "; please report this scenario";
    postMessage({ id: data.id, failed: text });
  }
};
