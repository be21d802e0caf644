// The pixel of a picture, `width` pixels wide, that a pointer or a finger is at.
function under(svg, width, finger) {
  var box = svg.getBoundingClientRect();
  return (finger.clientX - box.left) / box.width * width;
}
// Read-outs of a figure: under the mouse, where a finger taps, and until it leaves. A finger that moves scrolls the page.
function pointed(svg, read, leave) {
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("pointermove", function (event) { if (event.pointerType !== "touch") read(event); });
  svg.addEventListener("click", read);
  svg.addEventListener("pointerleave", function (event) { if (event.pointerType !== "touch") leave(); });
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", function (event) { if (event.key === "Escape") leave(); });
}
// Shows a read-out beside a place of its figure, in what can be seen of that.
function beside(tip, x, top) {
  var plot = tip.parentNode;
  tip.hidden = false;
  var left = x + 14;
  if (left + tip.offsetWidth > plot.scrollLeft + plot.clientWidth) left = x - tip.offsetWidth - 14;
  tip.style.left = Math.max(plot.scrollLeft, left) + "px";
  tip.style.top = Math.max(0, top) + "px";
}
// The part of the run that a figure shows, from a time to another in us: chosen by dragging, wheel, two fingers or keys. An event "range" of
// the document says which, so that all figures over time show the same one. Of the axis: l, r, top and bottom in pixels of a picture that is
// w wide; end of the run, and the least part, in us; cursor(), a time or null; show(), which draws.
function zoomable(svg, axis) {
  var part = { from: 0, to: axis.end, px: px, us: us, choose: choose, closer: closer, aside: aside }, begun = null, held = null;
  var drawn = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  svg.classList.add("zoomable");
  drawn.setAttribute("class", "drag");
  drawn.setAttribute("y", axis.top);
  drawn.setAttribute("height", axis.bottom - axis.top);
  function px(time) { return axis.l + (time - part.from) / (part.to - part.from) * (axis.r - axis.l); }
  function us(x) { return part.from + (x - axis.l) / (axis.r - axis.l) * (part.to - part.from); }
  function inside(event) { return Math.min(axis.r, Math.max(axis.l, under(svg, axis.w, event))); }
  function take(low, high) {
    var width = Math.min(axis.end, Math.max(axis.least, high - low));
    part.from = Math.max(0, Math.min(axis.end - width, (low + high - width) / 2));
    part.to = part.from + width;
    axis.show();
  }
  // Axes may end a sample apart: all of the run is from 0 to infinity.
  function choose(low, high) {
    take(low, high);
    var all = part.from === 0 && part.to === axis.end;
    document.dispatchEvent(new CustomEvent("range", { detail: { of: svg, from: part.from, to: all ? Infinity : part.to } }));
  }
  function closer(factor, around) { choose(around - (around - part.from) * factor, around + (part.to - around) * factor); }
  function aside(share) { choose(part.from + share * (part.to - part.from), part.to + share * (part.to - part.from)); }
  document.addEventListener("range", function (event) {
    if (event.detail.of !== svg) take(event.detail.from, event.detail.to);
  });
  svg.addEventListener("pointerdown", function (event) {
    if (event.button !== 0 || event.pointerType !== "mouse") return;
    begun = inside(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", function (event) {
    if (begun === null) return;
    var x = inside(event);
    drawn.setAttribute("x", Math.min(x, begun));
    drawn.setAttribute("width", Math.abs(x - begun));
    svg.appendChild(drawn);
  });
  ["pointerup", "pointercancel"].forEach(function (kind) {
    svg.addEventListener(kind, function (event) {
      if (begun === null) return;
      var x = inside(event), low = Math.min(x, begun), high = Math.max(x, begun);
      begun = null;
      drawn.remove();
      if (kind === "pointerup" && high - low > 4) choose(us(low), us(high));
    });
  });
  svg.addEventListener("dblclick", function () { choose(0, Infinity); });
  svg.addEventListener("wheel", function (event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    closer(event.deltaY > 0 ? 1.25 : 0.8, us(inside(event)));
  }, { passive: false });
  // Two fingers hold what they came down on, between them and as far apart. One finger is the browser's, for scrolling.
  function grip(fingers) {
    var a = fingers[0], b = fingers[1];
    return { x: (under(svg, axis.w, a) + under(svg, axis.w, b)) / 2, apart: Math.max(20, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY)) };
  }
  svg.addEventListener("touchstart", function (event) {
    held = null;
    if (event.touches.length !== 2 || !Array.from(event.touches).every(function (finger) { return svg.contains(finger.target); })) return;
    event.preventDefault();
    held = grip(event.touches);
    held.us = us(held.x);
    held.width = part.to - part.from;
  }, { passive: false });
  svg.addEventListener("touchmove", function (event) {
    if (!held || event.touches.length !== 2) return;
    event.preventDefault();
    var now = grip(event.touches), width = held.width * held.apart / now.apart, from = held.us - (now.x - axis.l) / (axis.r - axis.l) * width;
    choose(from, from + width);
  }, { passive: false });
  ["touchend", "touchcancel"].forEach(function (kind) { svg.addEventListener(kind, function () { held = null; }); });
  svg.addEventListener("keydown", function (event) {
    var at = axis.cursor(), middle = at === null ? (part.from + part.to) / 2 : at, key = event.key;
    if (key === "+" || key === "=") closer(0.5, middle);
    else if (key === "-") closer(2, middle);
    else if (key === "0" || key === "Home") choose(0, Infinity);
    else if (event.shiftKey && key === "ArrowRight") aside(0.25);
    else if (event.shiftKey && key === "ArrowLeft") aside(-0.25);
    else return;
    event.preventDefault();
  });
  return part;
}
