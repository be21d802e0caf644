"use strict";
// Panels on one time axis: zoom by dragging, keys or buttons, and a read-out of all of them under the pointer.
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
    var tip = document.createElement("div"), cross = document.createElementNS(NS, "path"), select = document.createElementNS(NS, "rect");
    var all = d.samples, a = 0, b = all, cursor = -1, from = null, wide = d.r - d.l;
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
    select.setAttribute("class", "select");
    select.setAttribute("y", d.top);
    select.setAttribute("height", d.bottom - d.top);
    svg.append(select, cross);
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
    function view(low, high) {
      var least = Math.min(20, all), width = Math.min(all, Math.max(least, high - low));
      a = Math.max(0, Math.min(all - width, (low + high - width) / 2));
      b = a + width;
      hide();
      draw();
    }
    function zoom(factor, around) { view(around - (around - a) * factor, around + (b - around) * factor); }
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
      tip.hidden = false;
      var scale = svg.getBoundingClientRect().width / d.w, left = x * scale + 14;
      if (left + tip.offsetWidth > box.scrollLeft + box.clientWidth) left = x * scale - tip.offsetWidth - 14;
      tip.style.left = Math.max(0, left) + "px";
      tip.style.top = Math.max(0, d.top * scale) + "px";
    }
    function at(event) {
      var r = svg.getBoundingClientRect(), x = (event.clientX - r.left) / r.width * d.w;
      return a + Math.min(1, Math.max(0, (x - d.l) / wide)) * (b - a);
    }
    function mark(low, high) {
      select.setAttribute("x", px(Math.min(low, high)));
      select.setAttribute("width", Math.abs(px(high) - px(low)));
    }
    svg.addEventListener("pointerdown", function (event) {
      if (event.pointerType !== "mouse" || event.button) return;
      from = at(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", function (event) {
      if (from !== null) mark(from, at(event));
      show(at(event));
    });
    svg.addEventListener("pointerup", function (event) {
      if (from === null) return;
      var to = at(event), far = Math.abs(px(to) - px(from));
      mark(from, from);
      if (far > 4) view(Math.min(from, to), Math.max(from, to));
      from = null;
    });
    svg.addEventListener("pointerleave", function () { if (from === null) leave(); });
    svg.addEventListener("dblclick", function () { view(0, all); });
    svg.addEventListener("wheel", function (event) {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, at(event));
    }, { passive: false });
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", function (event) {
      var middle = cursor >= 0 ? cursor : (a + b) / 2, side = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (event.key === "+" || event.key === "=") zoom(0.5, middle);
      else if (event.key === "-") zoom(2, middle);
      else if (event.key === "0" || event.key === "Home") view(0, all);
      else if (event.key === "Escape") leave();
      else if (side && event.shiftKey) view(a + side * (b - a) / 4, b + side * (b - a) / 4);
      else if (side) show(middle + side * (b - a) / wide * COLUMN);
      else return;
      event.preventDefault();
    });
    if (bar) {
      bar.hidden = false;
      bar.querySelectorAll("button").forEach(function (button) {
        button.addEventListener("click", function () {
          var what = button.dataset.zoom, win = d.win[button.dataset.window];
          if (win) view(win.from, win.to);
          else if (what === "all") view(0, all);
          else if (what === "left" || what === "right") {
            var step = (what === "left" ? -1 : 1) * (b - a) / 4;
            view(a + step, b + step);
          } else zoom(what === "in" ? 0.5 : 2, (a + b) / 2);
        });
      });
    }
  });
})();
