// Read-outs under the pointer (or the arrow keys). The page is complete without them.
// Figures over time share one cursor: an event "cursor" of the document says where it is, in us, or null. They also share the part of the run
// that they show (zoom.js).
(function () {
  var theme = new URLSearchParams(location.search).get("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  document.querySelectorAll(".plot:not(.panels) > script").forEach(function (holder) {
    var data = JSON.parse(holder.textContent), plot = holder.parentNode, svg = plot.querySelector("svg");
    var tip = document.createElement("div"), marks = [], at = -1;
    var ns = "http://www.w3.org/2000/svg", cross = document.createElementNS(ns, "path");
    tip.className = "tip";
    tip.hidden = true;
    cross.setAttribute("class", "cross");
    svg.appendChild(cross);
    data.s.forEach(function (row) {
      row.v.forEach(function (text, i) { if (text === 0) row.v[i] = row.v[i - 1]; });
      var mark = document.createElementNS(ns, "circle");
      mark.setAttribute("r", 4);
      mark.setAttribute("class", "dot " + row.c);
      mark.style.display = "none";
      svg.appendChild(mark);
      marks.push(mark);
    });
    plot.appendChild(tip);
    function line(text, cls) {
      var div = document.createElement("div"), key = document.createElement("i");
      key.className = "key " + cls;
      div.append(key, text);
      return div;
    }
    function hide() {
      at = -1;
      tip.hidden = true;
      cross.setAttribute("d", "");
      marks.forEach(function (mark) { mark.style.display = "none"; });
    }
    function tell(us) {
      if (data.time) document.dispatchEvent(new CustomEvent("cursor", { detail: { of: svg, us: us } }));
    }
    function leave() {
      hide();
      tell(null);
    }
    function nearest(x) {
      var best = -1, least = Infinity;
      data.x.forEach(function (p, i) {
        var far = Math.abs(p - x);
        if (far < least) { least = far; best = i; }
      });
      return best;
    }
    // The cursor of another figure, without words.
    if (data.time) document.addEventListener("cursor", function (event) {
      if (event.detail.of === svg) return;
      hide();
      var us = event.detail.us;
      if (us === null || us < range.from || us > range.to) return;
      var x = range.px(us), i = nearest(x);
      cross.setAttribute("d", "M" + x.toFixed(1) + " " + data.top + "V" + data.bottom);
      if (i >= 0 && Math.abs(data.x[i] - x) < 8) dots(i);
    });
    function dots(i) {
      data.s.forEach(function (row, k) {
        var there = row.y[i] !== null;
        marks[k].style.display = there ? "" : "none";
        if (!there) return;
        marks[k].setAttribute("cx", data.x[i]);
        marks[k].setAttribute("cy", row.y[i]);
      });
    }
    function show(i) {
      at = i;
      var box = svg.getBoundingClientRect(), scale = box.width / data.w, x = data.x[i];
      var title = document.createElement("b");
      title.textContent = data.time ? range.words(x) : data.t[i];
      tip.replaceChildren(title);
      dots(i);
      data.s.forEach(function (row) {
        if (row.y[i] !== null) tip.appendChild(line(row.n + ": " + row.v[i], row.c));
      });
      cross.setAttribute("d", "M" + x + " " + data.top + "V" + data.bottom);
      beside(tip, x * scale, data.top * scale - 4);
      if (data.time) tell(range.us(x));
    }
    pointed(svg, function (event) {
      var i = nearest(under(svg, data.w, event));
      if (i >= 0 && isFinite(data.x[i])) show(i);
    }, leave);
    svg.addEventListener("keydown", function (event) {
      var step = event.shiftKey ? 0 : event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (!step) return;
      event.preventDefault();
      var next = at < 0 ? data.x.findIndex(function (x) { return isFinite(x); }) : Math.min(data.x.length - 1, Math.max(0, at + step));
      if (isFinite(data.x[next])) show(next); // else not in the part that is shown
    });
    var range = data.time && partial();

    // The part of the run that a figure over time shows: its lines are stretched, and what is outside is cut off.
    function partial() {
      var l = data.time[0], r = data.time[1], end = data.time[2], unit = data.time[3], whole = data.x;
      // A pixel is about a thousandth of the run, so times need no more digits.
      var digits = Math.max(0, 3 - Math.floor(Math.log10(end / unit)));
      var traces = svg.querySelector(".traces"), ticks = svg.querySelector(".ticks"), first = Array.from(ticks.childNodes);
      var clip = document.createElementNS(ns, "clipPath"), hole = document.createElementNS(ns, "rect"), outer = document.createElementNS(ns, "g");
      clip.id = "part-" + document.querySelectorAll("clipPath").length;
      [["x", l], ["y", data.top - 4], ["width", r - l], ["height", data.bottom - data.top + 8]].forEach(function (one) { hole.setAttribute(one[0], one[1]); });
      clip.appendChild(hole);
      svg.appendChild(clip);
      outer.setAttribute("clip-path", "url(#" + clip.id + ")");
      traces.replaceWith(outer);
      outer.appendChild(traces);
      var part = zoomable(svg, {
        l: l, r: r, w: data.w, top: data.top, bottom: data.bottom, end: end, least: end / 200, show: stretch,
        cursor: function () { return at >= 0 ? part.us(data.x[at]) : null; },
      });
      part.words = function (x) { return "at " + (part.us(x) / unit).toFixed(digits) + " " + data.time[4]; };
      function stretch() {
        var width = part.to - part.from, scale = end / width;
        traces.setAttribute("transform", "matrix(" + scale + " 0 0 1 " + (l - scale * l - part.from / width * (r - l)) + " 0)");
        data.x = whole.map(function (x) {
          var at = part.px((x - l) / (r - l) * end);
          return at < l - 0.5 || at > r + 0.5 ? Infinity : at;
        });
        hide();
        if (width === end) ticks.replaceChildren.apply(ticks, first);
        else drawTicks(ticks, part.from / unit, part.to / unit, 7, data.bottom, function (value) { return part.px(value * unit).toFixed(1); });
      }
      return part;
    }
  });
})();
