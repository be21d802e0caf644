// The fabric on a canvas: a cable is two lanes, one for each direction; a queue is a bar that grows from its port along its lane.

import { QUEUE, BUSY, PAUSED, DROPPED } from "./run.js";
import { bytes, percent, arrow } from "./words.js";

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Topology {
  constructor(canvas, tip, choose) {
    Object.assign(this, { canvas, tip, choose, run: null, chosen: -1, lanes: [] });
    canvas.addEventListener("pointermove", event => this.point(event));
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    canvas.addEventListener("click", event => { const lane = this.near(event); if (lane) choose(lane.port.i); });
    this.colours();
  }

  colours() {
    const names = ["ink", "ink2", "ink3", "line", "panel", "axis", "use", "drop", "pause", "wire", "k0", "k1", "k2", "k3", "k4", "k5"];
    this.ink = Object.fromEntries(names.map(name => [name, css("--" + name)]));
    this.ramp = [1, 2, 3, 4, 5].map(i => this.ink["k" + i]);
  }

  // Where nodes stand: hosts below, switches above by their distance from a host.
  lay(run) {
    this.run = run;
    const { names, hosts, ports } = run.layout, next = names.map(() => []);
    for (const [node, peer] of ports) next[node].push(peer);
    const level = names.map((_, i) => i < hosts ? 0 : -1);
    for (let l = 0, some = true; some; l++) {
      some = false;
      level.forEach((at, i) => { if (at === l) for (const j of next[i]) if (level[j] < 0) { level[j] = l + 1; some = true; } });
    }
    const top = Math.max(...level), width = this.canvas.parentElement.clientWidth - (this.canvas.parentElement.clientWidth > 500 ? 32 : 20);
    const rows = Array.from({ length: top + 1 }, (_, l) => names.map((_, i) => i).filter(i => level[i] === l));
    // Hosts stand by their switch, in the order of the switches.
    const home = i => next[i].find(j => level[j] === 1) ?? -1;
    rows[0].sort((a, b) => home(a) - home(b) || a - b);
    const groups = [];
    for (const host of rows[0]) {
      if (!groups.length || groups[groups.length - 1].of !== home(host)) groups.push({ of: home(host), hosts: [] });
      groups[groups.length - 1].hosts.push(host);
    }
    const few = hosts <= 12, gap = top < 2 ? 150 : top === 2 ? 122 : 100;
    const head = 24, foot = few ? 42 : 46;
    this.width = width;
    this.height = head + top * gap + foot;
    const x = new Array(names.length), y = new Array(names.length), low = this.height - foot;
    const between = width < 500 ? 8 : 18, room = (width - between * (groups.length - 1)) / rows[0].length;
    const pitch = Math.min(room, few ? 150 : 60), spare = (room - pitch) * rows[0].length / groups.length;
    let at = spare / 2;
    for (const group of groups) {
      group.from = at;
      for (const host of group.hosts) { x[host] = at + pitch / 2; y[host] = low; at += pitch; }
      group.to = at;
      at += between + spare;
    }
    for (let l = 1; l <= top; l++) {
      const row = rows[l], high = head + (top - l) * (low - head) / top;
      const wish = row.map(i => { const below = next[i].filter(j => level[j] === l - 1); return l === 1 && below.length ? below.reduce((s, j) => s + x[j], 0) / below.length : NaN; });
      row.forEach((i, k) => {
        x[i] = l === 1 && Number.isFinite(wish[k]) ? wish[k] : width * (k + 0.5) / row.length;
        y[i] = high;
      });
    }
    Object.assign(this, { x, y, level, groups, pitch, few, top });
    const cell = l => rows[l].length ? width / rows[l].length : width;
    const span = new Map(groups.map(group => [group.of, group.to - group.from]));
    this.box = names.map((name, i) => level[i] ? Math.max(Math.min(Math.max(54, name.length * 6.4 + 14), cell(level[i]) - 4), span.get(i) || 0) : 0);
    this.size = Math.max(2, Math.min(pitch - 2, few ? 26 : 9));
    this.lanes = run.ports.map(port => this.lane(port, next));
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = width * scale;
    this.canvas.height = this.height * scale;
    this.canvas.style.height = this.height + "px";
    this.canvas.style.width = width + "px";
  }

  // A lane from its sender to its receiver: always on its right, so that the two directions part.
  lane(port, next) {
    const { x, y, level, run } = this, { node: a, peer: b } = port, up = level[b] > level[a];
    const apart = Math.min(2.6, Math.max(1, this.pitch / 5));
    const half = { host: this.size / 2, box: 11 };
    const flat = level[a] === level[b];
    const ends = [a, b].map((i, k) => {
      const other = k ? a : b, near = next[i].filter(j => (level[j] > level[i]) === (level[other] > level[i]) && level[j] !== level[i] && level[i] > 0);
      let px = x[i];
      if (!flat && level[i] > 0) {
        const order = near.slice().sort((p, q) => x[p] - x[q]), inner = Math.max(0, this.box[i] - 6);
        // Hosts hang straight below their switch where they fit.
        px = level[other] === 0 && this.pitch * near.length <= this.box[i] + 1 ? x[other]
          : x[i] + (order.length > 1 ? (order.indexOf(other) / (order.length - 1) - 0.5) * Math.min(inner, order.length * 14) : 0);
      }
      const h = level[i] ? half.box : half.host;
      return flat ? [x[i] + Math.sign(x[other] - x[i]) * this.box[i] / 2, y[i]] : [px, y[i] + (y[other] > y[i] ? h : -h)];
    });
    const side = flat ? [0, x[b] > x[a] ? -apart : apart] : [up ? -apart : apart, 0];
    const [p, q] = ends.map(([ex, ey]) => [ex + side[0], ey + side[1]]);
    const bend = flat ? 0 : (q[1] - p[1]) * 0.45;
    const curve = [p, [p[0], p[1] + bend], [q[0], q[1] - bend], q];
    const path = new Path2D();
    path.moveTo(...p);
    path.bezierCurveTo(...curve[1], ...curve[2], ...q);
    const points = Array.from({ length: 13 }, (_, i) => along(curve, i / 12));
    let length = 0;
    for (let i = 1; i < points.length; i++) length += Math.hypot(points[i][0] - points[i - 1][0], points[i][1] - points[i - 1][1]);
    return { port: run.ports[port.i], path, points, length, start: p };
  }

  draw(i) {
    const { run, canvas, ink } = this;
    if (!run || !run.frames.length) return;
    this.frame = i;
    const c = canvas.getContext("2d"), scale = window.devicePixelRatio || 1, peak = Math.max(run.peak, 1);
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    c.lineCap = "butt";
    const thin = Math.min(2.2, Math.max(0.8, this.pitch / 7)), thick = Math.min(5, Math.max(2, this.pitch / 3));
    const drops = [];
    for (const lane of this.lanes) {
      const busy = run.port(i, lane.port.i, BUSY);
      c.setLineDash(busy < 0 ? [2, 4] : []);
      c.lineWidth = thin;
      c.strokeStyle = busy < 0 ? ink.drop : ink.wire;
      c.stroke(lane.path);
      if (busy > 0.004) {
        c.globalAlpha = Math.min(1, 0.18 + 0.82 * busy);
        c.strokeStyle = ink.use;
        c.stroke(lane.path);
        c.globalAlpha = 1;
      }
    }
    for (const lane of this.lanes) {
      const paused = run.port(i, lane.port.i, PAUSED), queue = run.port(i, lane.port.i, QUEUE);
      if (paused > 0.01) {
        c.globalAlpha = 0.35 + 0.65 * paused;
        c.lineWidth = thin + 1.4;
        c.strokeStyle = ink.pause;
        c.setLineDash([3, 4]);
        c.stroke(lane.path);
        c.globalAlpha = 1;
      }
      if (queue > 0) {
        const share = Math.sqrt(queue / peak);
        c.lineWidth = thick;
        c.strokeStyle = this.heat(share);
        c.setLineDash([Math.max(2, share * lane.length * 0.72), 1e5]);
        c.stroke(lane.path);
      }
      let lost = 0;
      for (let back = 0; back < 6 && i - back >= 0; back++) if (run.port(i - back, lane.port.i, DROPPED) > 0) { lost = 1 - back / 6; break; }
      if (lost) drops.push([lane, lost]);
    }
    c.setLineDash([]);
    for (const [lane, lost] of drops) {
      const [px, py] = along4(lane, 0.06);
      c.globalAlpha = lost;
      c.strokeStyle = ink.drop;
      c.lineWidth = 2.4;
      c.beginPath();
      for (const s of [-1, 1]) { c.moveTo(px - 5, py - 5 * s); c.lineTo(px + 5, py + 5 * s); }
      c.stroke();
      c.globalAlpha = 1;
    }
    this.nodes(c, i);
    if (this.chosen >= 0 && this.lanes[this.chosen]) {
      const [px, py] = this.lanes[this.chosen].start;
      c.strokeStyle = ink.ink;
      c.lineWidth = 1.6;
      c.beginPath();
      c.arc(px, py, 5.5, 0, 7);
      c.stroke();
    }
  }

  nodes(c, i) {
    const { run, ink, x, y, level } = this, { names, hosts, memories } = run.layout, racks = run.racks(i);
    const most = this.mostInRack(), memory = new Set(memories.map(m => m.host));
    c.textAlign = "center";
    c.textBaseline = "middle";
    names.forEach((name, n) => {
      if (level[n] === 0) {
        const s = this.size;
        c.fillStyle = memory.has(n) ? ink.ink : ink.axis;
        c.beginPath();
        c.roundRect(x[n] - s / 2, y[n] - s / 2, s, s, Math.min(3, s / 4));
        c.fill();
        if (this.few) {
          c.fillStyle = ink.ink2;
          c.font = "12px system-ui, sans-serif";
          c.fillText(fit(c, name.split(".").pop(), this.pitch - 4), x[n], y[n] + s / 2 + 11);
        }
        return;
      }
      const w = this.box[n];
      c.beginPath();
      c.roundRect(x[n] - w / 2, y[n] - 11, w, 22, 5);
      c.fillStyle = ink.panel;
      c.fill();
      if (racks.get(n) > 0) {
        const share = Math.sqrt(racks.get(n) / most);
        c.save();
        c.clip();
        c.fillStyle = this.heat(share);
        c.fillRect(x[n] - w / 2, y[n] + 6, w * share, 5);
        c.restore();
        c.beginPath();
        c.roundRect(x[n] - w / 2, y[n] - 11, w, 22, 5);
      }
      c.strokeStyle = ink.axis;
      c.lineWidth = 1;
      c.stroke();
      c.fillStyle = ink.ink;
      c.font = "600 12px system-ui, sans-serif";
      c.fillText(fit(c, name, w - 8), x[n], y[n] - (racks.has(n) ? 2 : -0.5));
    });
    if (this.few && this.groups.length < 2) return;
    c.font = "12px system-ui, sans-serif";
    c.fillStyle = ink.ink2;
    for (const group of this.groups) {
      const first = names[group.hosts[0]].split(".").pop(), last = names[group.hosts[group.hosts.length - 1]].split(".").pop();
      const long = `${first} … ${last}`, text = c.measureText(long).width < group.to - group.from ? long : `${group.hosts.length} hosts`;
      if (!this.few) c.fillText(text, (group.from + group.to) / 2, y[group.hosts[0]] + this.size / 2 + 13);
    }
  }

  mostInRack() {
    return Math.max(1, this.run.series("most in rack", (_, i) => Math.max(0, ...this.run.racks(i).values())).reduce((a, b) => Math.max(a, b), 0));
  }

  heat(share) { return this.ramp[Math.min(this.ramp.length - 1, Math.floor(share * this.ramp.length))]; }

  near(event) {
    const box = this.canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    let best = null, least = 12;
    for (const lane of this.lanes) {
      // A point of the sender's half counts as nearer: its queue stands there.
      lane.points.forEach(([x, y], k) => {
        const far = Math.hypot(x - px, y - py) + (k > 6 ? 2 : 0);
        if (far < least) { least = far; best = lane; }
      });
    }
    return best;
  }

  point(event) {
    const lane = this.near(event), { tip, run, frame } = this;
    tip.hidden = !lane;
    this.canvas.style.cursor = lane ? "pointer" : "";
    if (!lane) return;
    const p = lane.port.i, busy = run.port(frame, p, BUSY), paused = run.port(frame, p, PAUSED);
    const name = document.createElement("b");
    name.textContent = arrow(lane.port.name);
    tip.replaceChildren(name, `${bytes(run.port(frame, p, QUEUE))} queued, ${busy < 0 ? "link down" : percent(busy * 100) + " busy"}`);
    if (paused > 0) tip.append(document.createElement("br"), `paused ${percent(paused * 100)}`);
    const around = tip.parentElement.getBoundingClientRect();
    const left = event.clientX - around.left + 14;
    tip.style.left = Math.max(4, Math.min(left, around.width - tip.offsetWidth - 4)) + "px";
    tip.style.top = Math.max(4, event.clientY - around.top - tip.offsetHeight - 10) + "px";
  }
}

function along([p, a, b, q], t) {
  const s = 1 - t, w = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
  return [0, 1].map(k => w[0] * p[k] + w[1] * a[k] + w[2] * b[k] + w[3] * q[k]);
}

function along4(lane, t) {
  const at = t * (lane.points.length - 1), i = Math.floor(at), f = at - i, [a, b] = [lane.points[i], lane.points[Math.min(i + 1, lane.points.length - 1)]];
  return [a[0] + (b[0] - a[0]) * f, a[1] + (b[1] - a[1]) * f];
}

function fit(c, text, width) {
  if (c.measureText(text).width <= width) return text;
  const short = text.replace(/^(.)[a-z]*/, "$1").replace(/\.([a-z])[a-z]*/g, ".$1");
  if (c.measureText(short).width <= width) return short;
  return (text.match(/\d+(?=\]$)/) || [""])[0];
}
