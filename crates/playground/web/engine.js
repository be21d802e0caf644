// Workers: one that answers about texts, and one for each run.

let module, answering, waiting = new Map(), last = 0, running;

const files = new Map(); // that scenarios may name

function worker() {
  const made = new Worker("worker.js");
  made.postMessage({ module, files: [...files.values()] });
  return made;
}

// Has scenarios name this file from now on.
export function give(name, bytes) {
  files.set(name, { name, bytes });
  answering.postMessage({ files: [files.get(name)] });
}

export async function load() {
  const fetched = fetch("playground.wasm");
  try {
    module = await WebAssembly.compileStreaming(fetched);
  } catch {
    // A server that does not know the type of .wasm.
    module = await WebAssembly.compile(await (await fetch("playground.wasm")).arrayBuffer());
  }
  answering = worker();
  answering.onmessage = ({ data }) => {
    const [done, failed] = waiting.get(data.id);
    waiting.delete(data.id);
    data.failed ? failed(new Error(data.failed)) : done(data.answer);
  };
}

// "presets", "checked" with a text and keys, "changed" with a text and keys and values in turn.
export function ask(what, texts = []) {
  return new Promise((done, failed) => {
    last += 1;
    waiting.set(last, [done, failed]);
    answering.postMessage({ id: last, ask: what, texts });
  });
}

// Ends the run that goes on, if one does; what it has left stays as it is.
export function stop() {
  if (running) running.terminate();
  running = null;
}

// Ends the run that goes on, if one does, and begins another; `hear` gets what its worker posts.
export function run(text, hear) {
  stop();
  const own = running = worker();
  own.onmessage = ({ data }) => {
    if (own === running) hear(data);
    if (data.end || data.refused || data.failed) own.terminate();
  };
  own.onerror = event => { if (own === running) hear({ failed: event.message }); };
  own.postMessage({ run: text });
}
