"use strict";
// Read-outs under the pointer (or the arrow keys). The page is complete without them.
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
    function show(i) {
      at = i;
      var box = svg.getBoundingClientRect(), scale = box.width / data.w, x = data.x[i];
      var title = document.createElement("b");
      title.textContent = data.t[i];
      tip.replaceChildren(title);
      data.s.forEach(function (row, k) {
        var there = row.y[i] !== null;
        marks[k].style.display = there ? "" : "none";
        if (!there) return;
        marks[k].setAttribute("cx", x);
        marks[k].setAttribute("cy", row.y[i]);
        tip.appendChild(line(row.n + ": " + row.v[i], row.c));
      });
      cross.setAttribute("d", "M" + x + " " + data.top + "V" + data.bottom);
      tip.hidden = false;
      var left = x * scale + 14;
      if (left + tip.offsetWidth > plot.scrollLeft + plot.clientWidth) left = x * scale - tip.offsetWidth - 14;
      tip.style.left = Math.max(0, left) + "px";
      tip.style.top = Math.max(0, data.top * scale - 4) + "px";
    }
    svg.addEventListener("pointermove", function (event) {
      var box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * data.w, best = -1, least = Infinity;
      data.x.forEach(function (p, i) {
        var far = Math.abs(p - x);
        if (far < least) { least = far; best = i; }
      });
      if (best >= 0) show(best);
    });
    svg.addEventListener("pointerleave", hide);
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", function (event) {
      var step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      show(Math.min(data.x.length - 1, Math.max(0, at + step)));
    });
  });
})();
