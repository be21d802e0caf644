"use strict";
// Draws ticks and labels of an axis of time from `low` to `high`, `most` at most; `px` says where a value is.
function drawTicks(group, low, high, most, bottom, px) {
  var ns = "http://www.w3.org/2000/svg", step = Math.pow(10, Math.floor(Math.log10((high - low) / (most - 1))));
  [1, 2, 5, 10].some(function (m) { if ((high - low) / (step * m) <= most) { step *= m; return true; } return false; });
  group.replaceChildren();
  for (var n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-12); n++) {
    var rule = document.createElementNS(ns, "path"), label = document.createElementNS(ns, "text"), x = px(n * step);
    rule.setAttribute("class", "axis");
    rule.setAttribute("d", "M" + x + " " + bottom + "v6");
    label.setAttribute("class", "tick mid");
    label.setAttribute("x", x);
    label.setAttribute("y", bottom + 19);
    label.textContent = String(parseFloat((n * step).toFixed(6)));
    group.append(rule, label);
  }
}
