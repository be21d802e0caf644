// The slider over time of the picture of the fabric: colours links by what they did in an interval.
// Its data have a letter for each link and interval, in the order of the shapes of the first picture; "*12;" stands for twelve times "A".
(function () {
  var letters = "ABCDEFGHIJKLMOPQRSTUVWXYZabcdefghjklmnopqrstuvwxyz0123456789+-/=", top = letters.length - 1;
  document.querySelectorAll(".slider").forEach(function (bar) {
    var data = JSON.parse(bar.querySelector("script").textContent), figure = bar.parentNode;
    var slider = bar.querySelector("input"), button = bar.querySelector("button"), output = bar.querySelector("output");
    var picks = Array.from(figure.querySelectorAll(".pick")), timer = null, names = null;
    var pictures = Array.from(figure.querySelectorAll(".picked")).map(function (part, nth) {
      var shapes = Array.from(part.querySelectorAll("svg [class^=h]")), end = part.querySelector(".ramp span:last-child");
      var titles = shapes.map(function (shape) { return shape.firstChild.textContent; });
      var own = titles.map(function (title) { return title.slice(0, title.lastIndexOf(": ")); });
      if (!names) names = new Map(own.map(function (name, i) { return [name, i]; }));
      var picture = {
        data: data.measures[nth], end: end, whole: end.textContent, cells: part.querySelector("svg rect"),
        shapes: shapes.map(function (shape, i) {
          return { shape: shape, at: names.get(own[i]), name: own[i], title: titles[i], first: shape.getAttribute("class"), now: shape.getAttribute("class"), share: null };
        })
      };
      picture.shapes.forEach(function (one) {
        one.shape.addEventListener("pointerenter", function () {
          one.shape.firstChild.textContent = one.share === null ? one.title : one.name + ": " + said(picture.data, one.share);
        });
      });
      return picture;
    });

    function said(measure, share) {
      var value = share * measure.full;
      if (measure.unit === "share") return Math.round(value * 100) + " %";
      if (measure.unit === "count") return (share < 1 && value >= 1 ? "about " : "") + Math.round(value);
      var unit = value >= 1e6 ? [1e6, " MB"] : value >= 1e3 ? [1e3, " KB"] : [1, " B"];
      return "about " + Number((value / unit[0]).toPrecision(2)) + unit[1];
    }
    function draw() {
      var frame = Number(slider.value) - 1, picture = pictures[Math.max(0, picks.findIndex(function (pick) { return pick.checked; }))];
      var measure = frame < 0 ? null : picture.data;
      var text = measure && measure.frames[frame].replace(/\*(\d+);/g, function (_, n) { return "A".repeat(Number(n)); });
      picture.end.textContent = measure ? measure.end : picture.whole;
      picture.shapes.forEach(function (one) {
        var letter = text ? Math.max(0, letters.indexOf(text[one.at])) : 0;
        var shade = letter && Math.min(9, Math.max(1, Math.floor(letter / top * 10))), next = text ? "h" + shade : one.first;
        one.share = text ? letter / top : null;
        // What stands out lies on top of other cables, below hosts and switches; of the whole run, as it was drawn.
        if (one.shape.tagName === "path" && (!text || (shade > 4 && next !== one.now))) picture.cells.parentNode.insertBefore(one.shape, picture.cells);
        if (next === one.now) return;
        one.shape.setAttribute("class", next);
        one.now = next;
      });
      var from = frame * data.every / data.unit, to = Math.min(data.end, (frame + 1) * data.every) / data.unit;
      function round(value) { return Number(value.toPrecision(4)); }
      output.textContent = frame < 0 ? "whole run" : round(from) + " to " + round(to) + " " + data.name + (measure ? "" : "; colours are of the whole run");
      slider.setAttribute("aria-valuetext", output.textContent);
      document.dispatchEvent(new CustomEvent("cursor", { detail: { of: bar, us: frame < 0 ? null : to * data.unit } }));
    }
    // Where a picture is wider than the screen, its middle is seen first.
    function centre() {
      pictures.forEach(function (picture) {
        var plot = picture.cells.closest(".plot");
        if (picture.centred || !plot.clientWidth) return;
        picture.centred = true;
        plot.scrollLeft = (plot.scrollWidth - plot.clientWidth) / 2;
      });
    }
    function stop() {
      clearInterval(timer);
      timer = null;
      button.textContent = "Play";
    }
    function step() {
      if (slider.value === slider.max) return stop();
      slider.value = Number(slider.value) + 1;
      draw();
    }
    button.addEventListener("click", function () {
      if (timer !== null) return stop();
      if (slider.value === slider.max) slider.value = 0;
      button.textContent = "Pause";
      timer = setInterval(step, 100);
      step();
    });
    slider.addEventListener("input", function () { stop(); draw(); });
    picks.forEach(function (pick) { pick.addEventListener("change", function () { draw(); centre(); }); });
    bar.hidden = false;
    centre();
  });
})();
