// What one run has left so far: its layout, its frames, its end. The layout of a frame is in crates/playground/src/frame.rs.

const HEAD = 10, PORT = 5, MEMORY = 5;
export const QUEUE = 0, BUSY = 1, PAUSED = 2, MARKED = 3, DROPPED = 4;

export class Run {
  constructor(text) {
    this.text = text;
    this.frames = [];
    this.end = null;
    this.peak = 0;       // largest queue of any port, bytes
    this.cache = new Map();
    this.ms = 0;
    this.hops = 0;
  }

  lay(layout) {
    this.layout = layout;
    this.ports = layout.ports.map(([node, peer, gbps], i) => ({ i, node, peer, gbps, name: layout.names[node] + "->" + layout.names[peer] }));
    this.byName = new Map(this.ports.map(port => [port.name, port.i]));
  }

  add(frames) {
    for (const frame of frames) {
      this.frames.push(frame);
      for (let p = 0; p < this.ports.length; p++) this.peak = Math.max(this.peak, frame[HEAD + p * PORT + QUEUE]);
    }
    this.cache.clear();
  }

  merge() {
    const merged = [];
    for (let i = 0; i + 1 < this.frames.length; i += 2) merged.push(join(this.frames[i], this.frames[i + 1]));
    this.frames = merged;
    this.cache.clear();
  }

  get last() { return this.frames.length - 1; }
  get until() { return this.frames.length ? this.frames[this.last][0] : 0; }
  time(i) { return this.frames[i][0]; }
  port(i, p, what) { return this.frames[i][HEAD + p * PORT + what]; }

  // The frame that shows this instant, or the last one there is.
  at(us) {
    let low = 0, high = this.last;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.frames[middle][0] < us - 1e-4) low = middle + 1; else high = middle;
    }
    return low;
  }

  series(key, of) {
    if (!this.cache.has(key)) this.cache.set(key, this.frames.map(of));
    return this.cache.get(key);
  }

  times() { return this.series("t", frame => frame[0]); }
  head(k) { return this.series("head" + k, frame => frame[k]); }
  queue(p) { return this.series("queue" + p, frame => frame[HEAD + p * PORT + QUEUE]); }
  memory(m, k) { return this.series(`memory${m}.${k}`, frame => frame[HEAD + this.ports.length * PORT + m * MEMORY + k]); }
  most(values) { return values.reduce((a, b) => Math.max(a, b), 0); }
  total(k) {
    if (!this.cache.has("sum" + k)) {
      let sum = 0;
      this.cache.set("sum" + k, this.frames.map(frame => sum += frame[k]));
    }
    return this.cache.get("sum" + k);
  }

  // Share of ports' time that the peer had them paused.
  pausedShare() {
    return this.series("paused", frame => {
      let sum = 0;
      for (let p = 0; p < this.ports.length; p++) sum += frame[HEAD + p * PORT + PAUSED];
      return 100 * sum / this.ports.length;
    });
  }

  racks(i) {
    const frame = this.frames[i], at = HEAD + this.ports.length * PORT + this.layout.memories.length * MEMORY, found = new Map();
    for (let r = 0; r < frame[at]; r++) found.set(frame[at + 1 + 2 * r], frame[at + 2 + 2 * r]);
    return found;
  }

  racksTotal() { return this.series("racks", (_, i) => [...this.racks(i).values()].reduce((a, b) => a + b, 0)); }

  // Rate of every flow that was ever listed, in Gb/s: by flow number.
  rates() {
    if (!this.cache.has("rates")) {
      const all = new Map();
      this.frames.forEach((frame, i) => {
        for (let at = sendersAt(frame); at < frame.length; at += 3) {
          if (!all.has(frame[at])) all.set(frame[at], new Array(this.frames.length).fill(0));
          all.get(frame[at])[i] = frame[at + 1];
        }
      });
      this.cache.set("rates", all);
    }
    return this.cache.get("rates");
  }

  // Slowdowns of flows that were complete by then, ascending.
  slowdowns(us) {
    const flows = this.end && this.end.flows;
    if (!flows) return [];
    return flows.slowdown.filter((s, i) => s !== null && flows.done_us[i] <= us + 1e-6).sort((a, b) => a - b);
  }

  // Whether the run had collectives, which its end says.
  hasCollectives() { return Boolean(this.end && this.end.collectives.start_us.length); }

  // Completion times of collectives that were over by then, in us, in their order.
  completed(us = Infinity) {
    const all = this.end && this.end.collectives;
    if (!all) return [];
    return all.done_us.map((done, i) => done !== null && done <= us + 1e-6 ? done - all.start_us[i] : null).filter(took => took !== null);
  }
}

function sendersAt(frame) {
  const racks = HEAD + frame[8] * PORT + frame[9] * MEMORY;
  return racks + 1 + 2 * frame[racks];
}

// Two frames as one: samples by the larger, shares and rates by the mean, counts by the sum.
function join(a, b) {
  const frame = Float32Array.from(b), mean = i => frame[i] = (a[i] + b[i]) / 2;
  mean(2);
  for (const k of [3, 4, 5]) frame[k] += a[k];
  for (let p = 0; p < b[8]; p++) {
    const at = HEAD + p * PORT;
    frame[at + QUEUE] = Math.max(a[at + QUEUE], b[at + QUEUE]);
    if (a[at + BUSY] >= 0 && b[at + BUSY] >= 0) mean(at + BUSY);
    mean(at + PAUSED);
    frame[at + MARKED] += a[at + MARKED];
    frame[at + DROPPED] += a[at + DROPPED];
  }
  for (let m = 0; m < b[9]; m++) {
    const at = HEAD + b[8] * PORT + m * MEMORY;
    frame[at] = Math.max(a[at], b[at]);
    for (const k of [1, 2, 3]) mean(at + k);
    frame[at + 4] = Math.max(a[at + 4], b[at + 4]);
  }
  const before = new Map();
  for (let at = sendersAt(a); at < a.length; at += 3) before.set(a[at], a[at + 1]);
  for (let at = sendersAt(b); at < b.length; at += 3) frame[at + 1] = (b[at + 1] + (before.get(b[at]) || 0)) / 2;
  return frame;
}

export const mean = values => values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;

export function quantile(sorted, percent) {
  return sorted.length ? sorted[Math.max(0, Math.ceil(sorted.length * percent / 100) - 1)] : null;
}
