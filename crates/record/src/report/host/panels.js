"use strict";
// Panels on one time axis, drawn from samples: a read-out of all of them under the pointer, and buttons for the part of the run (zoom.js).
(function () {
  var NS = "http://www.w3.org/2000/svg", COLUMN = 2;
  function numbers(text) {
    var raw = atob(text), words = new Uint16Array(raw.length / 2);
    for (var i = 0; i < words.length; i++) words[i] = raw.charCodeAt(2 * i) | raw.charCodeAt(2 * i + 1) << 8;
    return words;
  }
  function short(v) {
    var a = Math.abs(v);
    return a === 0 ? "0" : a >= 99.95 ? v.toFixed(0) : a >= 9.995 ? v.toFixed(1) : a >= 0.9995 ? v.toFixed(2) : v.toFixed(3);
  }
  function trim(text) { return text.indexOf(".") < 0 ? text : text.replace(/\.?0+$/, ""); }
  document.querySelectorAll(".panels > script").forEach(function (holder) {
    var d = JSON.parse(holder.textContent), box = holder.parentNode, svg = box.querySelector("svg");
    var bar = box.parentNode.querySelector(".zoom"), groups = svg.querySelectorAll(".traces"), axis = svg.querySelector(".times");
    var tip = document.createElement("div"), cross = document.createElementNS(NS, "path");
    var all = d.samples, a = 0, b = all, cursor = -1, wide = d.r - d.l, end = all * d.dt;
    d.p.forEach(function (panel) {
      panel.t.forEach(function (t) {
        t.me = numbers(t.me);
        t.lo = t.lo ? numbers(t.lo) : t.me;
        t.hi = t.hi ? numbers(t.hi) : t.me;
      });
    });
    d.win.forEach(function (win) { win.v = win.v.map(numbers); });
    tip.className = "tip";
    tip.hidden = true;
    cross.setAttribute("class", "cross");
    svg.append(cross);
    box.appendChild(tip);
    // The source of a stretch: a window that holds it, or bins of the whole run.
    function source() {
      return d.win.find(function (win) { return win.from <= a + 0.5 && b - 0.5 <= win.to; });
    }
    function columns(low, mean, high, first, per) {
      var n = Math.max(1, Math.floor(wide / COLUMN)), out = [], each = (b - a) / n;
      if (each <= per) {
        for (var i = Math.max(0, Math.floor((a - first) / per)); i < mean.length && first + i * per < b; i++)
          out.push([first + (i + 0.5) * per, low[i], mean[i], high[i]]);
        return out;
      }
      for (var c = 0; c < n; c++) {
        var i0 = Math.max(0, Math.floor((a + c * each - first) / per)), i1 = Math.min(mean.length, Math.ceil((a + (c + 1) * each - first) / per));
        var lo = Infinity, hi = -Infinity, sum = 0;
        for (var k = i0; k < i1; k++) {
          lo = Math.min(lo, low[k]);
          hi = Math.max(hi, high[k]);
          sum += mean[k];
        }
        if (i1 > i0) out.push([a + (c + 0.5) * each, lo, sum / (i1 - i0), hi]);
      }
      return out;
    }
    function px(at) { return d.l + (at - a) / (b - a) * wide; }
    function path(g, cls, points) {
      if (!points.length) return;
      var p = document.createElementNS(NS, "path");
      p.setAttribute("class", cls);
      p.setAttribute("d", "M" + points.map(function (q) { return q[0].toFixed(1) + " " + q[1].toFixed(1); }).join("L"));
      g.appendChild(p);
    }
    function traces(panel, k, win) {
      return panel.t.map(function (t, j) {
        var v = win && win.v[panel.first + j];
        return v ? columns(v, v, v, win.from, 1) : columns(t.lo, t.me, t.hi, 0, d.per);
      });
    }
    function draw() {
      var win = source();
      d.p.forEach(function (panel, k) {
        panel.first = d.p.slice(0, k).reduce(function (n, q) { return n + q.t.length; }, 0);
        var g = groups[k], found = traces(panel, k, win), under = null;
        function y(v) { return panel.y0 - Math.min(1, v / 65535) * (panel.y0 - panel.y1); }
        g.replaceChildren();
        found.forEach(function (cols, j) {
          var cls = panel.t[j].c, look = panel.t[j].look;
          if (panel.stack || look === 2) {
            var over = cols.map(function (c, i) { return c[2] + (under ? under[i] : 0); });
            var up = cols.map(function (c, i) { return [px(c[0]), y(over[i])]; });
            var down = cols.map(function (c, i) { return [px(c[0]), y(under ? under[i] : 0)]; }).reverse();
            path(g, (look === 2 ? "ground " : "pile ") + cls, up.concat(down));
            under = over;
          } else {
            var high = cols.map(function (c) { return [px(c[0]), y(c[3])]; });
            var low = cols.map(function (c) { return [px(c[0]), y(c[1])]; }).reverse();
            if (look !== 1) path(g, "band " + cls, high.concat(low));
            path(g, "line thin " + cls, cols.map(function (c) { return [px(c[0]), y(c[2])]; }));
          }
        });
      });
      ticks();
      if (bar) bar.querySelector("output").textContent = a > 0 || b < all ? time(a) + " to " + time(b) + (win ? ", every sample" : "") : "whole run";
    }
    function unit(us) { return us >= 2e6 ? [1e6, "s"] : us >= 2e3 ? [1e3, "ms"] : us >= 2 ? [1, "µs"] : [1e-3, "ns"]; }
    function time(at) {
      var us = at * d.dt, u = unit(us);
      return trim((us / u[0]).toFixed(us / u[0] >= 100 ? 2 : 4)) + " " + u[1];
    }
    function ticks() {
      var u = unit(b * d.dt), per = u[0] / d.dt;
      drawTicks(axis, a / per, b / per, 9, d.bottom, function (value) { return px(value * per); });
      svg.querySelector(".time-title").textContent = "Virtual time (" + u[1] + ")";
    }
    function hide() {
      cursor = -1;
      tip.hidden = true;
      cross.setAttribute("d", "");
    }
    // Figures over time share one cursor (report.js).
    function tell(us) { document.dispatchEvent(new CustomEvent("cursor", { detail: { of: svg, us: us } })); }
    function leave() {
      hide();
      tell(null);
    }
    document.addEventListener("cursor", function (event) {
      if (event.detail.of === svg) return;
      hide();
      var us = event.detail.us, there = us === null ? -1 : us / d.dt;
      if (there >= a && there <= b) cross.setAttribute("d", "M" + px(there).toFixed(1) + " " + d.top + "V" + d.bottom);
    });
    function show(at) {
      cursor = Math.min(b - 1e-6, Math.max(a, at));
      var win = source(), x = px(cursor), title = document.createElement("b");
      title.textContent = "at " + time(cursor);
      tip.replaceChildren(title);
      d.p.forEach(function (panel, k) {
        traces(panel, k, win).forEach(function (cols, j) {
          var best = null, t = panel.t[j], scale = panel.max / 65535;
          cols.forEach(function (c) { if (!best || Math.abs(c[0] - cursor) < Math.abs(best[0] - cursor)) best = c; });
          if (!best || t.look === 2 && best[2] < 32768) return;
          var line = document.createElement("div"), key = document.createElement("i"), spread = best[3] > best[1] && !panel.stack;
          key.className = "key " + t.c;
          if (t.look === 2) line.append(key, t.n);
          else line.append(key, t.n + ": " + short(best[2] * scale) + (spread ? " (" + short(best[1] * scale) + " to " + short(best[3] * scale) + ")" : "") + " " + panel.unit);
          tip.appendChild(line);
        });
      });
      cross.setAttribute("d", "M" + x + " " + d.top + "V" + d.bottom);
      tell(cursor * d.dt);
      var scale = svg.getBoundingClientRect().width / d.w;
      beside(tip, x * scale, d.top * scale);
    }
    var part = zoomable(svg, {
      l: d.l, r: d.r, w: d.w, top: d.top, bottom: d.bottom, end: end, least: Math.min(20, all) * d.dt,
      cursor: function () { return cursor >= 0 ? cursor * d.dt : null; },
      show: function () {
        a = part.from / d.dt;
        b = part.to === end ? all : part.to / d.dt;
        hide();
        draw();
      },
    });
    pointed(svg, function (event) { show(part.us(under(svg, d.w, event)) / d.dt); }, leave);
    svg.addEventListener("keydown", function (event) {
      var side = event.shiftKey ? 0 : event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (!side) return;
      event.preventDefault();
      show((cursor >= 0 ? cursor : (a + b) / 2) + side * (b - a) / wide * COLUMN);
    });
    if (bar) {
      bar.hidden = false;
      bar.querySelectorAll("button").forEach(function (button) {
        button.addEventListener("click", function () {
          var what = button.dataset.zoom, win = d.win[button.dataset.window];
          if (win) part.choose(win.from * d.dt, win.to * d.dt);
          else if (what === "all") part.choose(0, Infinity);
          else if (what === "left" || what === "right") part.aside(what === "left" ? -0.25 : 0.25);
          else part.closer(what === "in" ? 0.5 : 2, (part.from + part.to) / 2);
        });
      });
    }
  });
})();
