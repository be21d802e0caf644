"use strict";
// Read-outs under the pointer (or the arrow keys). The page is complete without them.
// Figures over time share one cursor: an event "cursor" of the document says where it is, in us, or null.
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
      var us = event.detail.us, l = data.time[0], r = data.time[1], end = data.time[2];
      if (us === null || us > end) return;
      var x = l + us / end * (r - l), i = nearest(x);
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
      title.textContent = data.t[i];
      tip.replaceChildren(title);
      dots(i);
      data.s.forEach(function (row) {
        if (row.y[i] !== null) tip.appendChild(line(row.n + ": " + row.v[i], row.c));
      });
      cross.setAttribute("d", "M" + x + " " + data.top + "V" + data.bottom);
      tip.hidden = false;
      var left = x * scale + 14;
      if (left + tip.offsetWidth > plot.scrollLeft + plot.clientWidth) left = x * scale - tip.offsetWidth - 14;
      tip.style.left = Math.max(0, left) + "px";
      tip.style.top = Math.max(0, data.top * scale - 4) + "px";
      if (data.time) tell((x - data.time[0]) / (data.time[1] - data.time[0]) * data.time[2]);
    }
    svg.addEventListener("pointermove", function (event) {
      var box = svg.getBoundingClientRect(), i = nearest((event.clientX - box.left) / box.width * data.w);
      if (i >= 0) show(i);
    });
    svg.addEventListener("pointerleave", leave);
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", function (event) {
      var step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (event.key === "Escape") leave();
      if (!step) return;
      event.preventDefault();
      show(Math.min(data.x.length - 1, Math.max(0, at + step)));
    });
  });
})();
