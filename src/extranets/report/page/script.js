"use strict";
(function () {
  const NS = "http://www.w3.org/2000/svg";
  const byId = (id) => document.getElementById(id);

  // -- light and dark ------------------------------------------------------------------------------------------------

  const theme = byId("theme");
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (systemDark.matches ? "dark" : "light")) === "dark";
  const nameTheme = () => { theme.textContent = isDark() ? "Light colours" : "Dark colours"; };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  systemDark.addEventListener("change", nameTheme);
  theme.hidden = false;
  nameTheme();

  const source = byId("data");
  if (!source) return;

  // -- the coverage slider -------------------------------------------------------------------------------------------

  const { target, levels, sample } = JSON.parse(source.textContent);
  const slider = byId("level");

  function add(parent, tag, attributes, text) {
    const element = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return parent.appendChild(element);
  }

  const scale = (from, to, start, end) => (value) => start + ((value - from) / (to - from)) * (end - start);

  function ticks(from, to, most) {
    const rough = (to - from) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const first = Math.ceil(from / step - 1e-9);
    const count = Math.floor(to / step + 1e-9) - first + 1;
    return Array.from({ length: count }, (_, i) => (first + i) * step);
  }

  // Labels of ticks by the rules of extranets.plots.drawing.tick_labels: the digits that the step needs; an exponent for the
  // very large and very small; and a round number left out of all of them where they would need many digits.
  const powerOf = (value) => Math.floor(Math.log10(value) + 1e-9);
  const largestOf = (values) => Math.max(0, ...values.map(Math.abs));
  const fixed = (value, places) => value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });

  function numberLabels(values) {
    const step = Number((values.length > 1 ? values[1] - values[0] : largestOf(values) || 1).toPrecision(2));
    let base = 0;
    if (largestOf(values) >= 1e6 * step) {
      const roundTo = 10 ** Math.ceil(Math.log10(step * values.length));
      base = Math.round(values[Math.floor(values.length / 2)] / roundTo) * roundTo;
    }
    const rest = values.map((value) => (Math.abs(value - base) < step / 1000 ? 0 : value - base));
    return { texts: alike(rest, step), base: base ? exact(base) : "" };
  }

  function alike(values, step) {
    const largest = largestOf(values);
    const finest = powerOf(step);
    if (largest === 0 || (largest >= 1e-4 && largest < 1e6)) {
      return values.map((value) => fixed(value, Math.max(0, -finest)));
    }
    const power = powerOf(largest);
    const places = Math.max(0, power - finest);
    return values.map((value) => (value ? `${(value / 10 ** power).toFixed(places)}e${power}` : "0"));
  }

  function exact(value) {
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return fixed(value, 0);
    return String(Number(value.toPrecision(15))).replace("e+", "e");
  }

  const percentLabels = (values) => ({ texts: values.map((value) => `${Math.round(100 * value)} %`), base: "" });

  const LETTER = 7, GAP = 12; // pixels
  const widthOf = (texts) => LETTER * Math.max(...texts.map((text) => text.length));

  /** As many ticks as have room for their labels side by side, but at least two. */
  function ticksInRoom(from, to, room, label) {
    for (let most = Math.floor(room / 50); most > 2; most -= 1) {
      const found = ticks(from, to, most);
      const step = (room * (found[1] - found[0])) / (to - from);
      if (found.length > 1 && widthOf(label(found).texts) + GAP <= step) return found;
    }
    const found = ticks(from, to, 5);
    return found.length > 2 ? found.filter((_, i) => i % 2 === 0) : found;
  }

  /** An empty plot in a box: its svg and the scales from numbers to pixels. */
  function frame(box, ratio, [x0, x1], [y0, y1], xlabel, ylabel, label) {
    const width = Math.max(box.clientWidth, 240);
    const height = Math.round(Math.min(Math.max(width * ratio, 260), 480));
    const svg = document.createElementNS(NS, "svg");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("role", "img");
    const ys = ticks(y0, y1, height / 60);
    const yLabels = label(ys);
    const left = 32 + widthOf(yLabels.texts);
    const right = width - 24;
    const xs = ticksInRoom(x0, x1, right - left, label);
    const xLabels = label(xs);
    const top = yLabels.base ? 24 : 8;
    const bottom = height - (xLabels.base ? 62 : 46);
    const x = scale(x0, x1, left, right);
    const y = scale(y0, y1, bottom, top);
    ys.forEach((value, i) => {
      add(svg, "line", { class: "gridline", x1: left, x2: right, y1: y(value), y2: y(value) });
      add(svg, "text", { class: "y-tick", x: left - 7, y: y(value) + 4, "text-anchor": "end" }, yLabels.texts[i]);
    });
    xs.forEach((value, i) => {
      add(svg, "text", { class: "x-tick", x: x(value), y: bottom + 20, "text-anchor": "middle" }, xLabels.texts[i]);
    });
    add(svg, "line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom });
    if (yLabels.base) add(svg, "text", { class: "y-base", x: 26, y: 12 }, `+ ${yLabels.base}`);
    if (xLabels.base) add(svg, "text", { class: "x-base", x: right, y: bottom + 37, "text-anchor": "end" }, `+ ${xLabels.base}`);
    add(svg, "text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, xlabel);
    add(svg, "text", { transform: `translate(13 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, ylabel);
    box.replaceChildren(svg);
    return { svg, x, y };
  }

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const cross = (x, y) => `M${x - 4} ${y - 4}L${x + 4} ${y + 4}M${x - 4} ${y + 4}L${x + 4} ${y - 4}`;
  const cut = (text) => (text.length > 24 ? text.slice(0, 23) + "…" : text);

  let rows, curve;
  const showsErrors = () => document.querySelector("input[name=view]:checked").value === "errors";

  function drawRowsFrame() {
    const [low, high] = showsErrors() ? sample.error_view : sample.view;
    const xs = [Math.min(...sample.mean), Math.max(...sample.mean)];
    const pad = (xs[1] - xs[0]) * 0.03 || Math.abs(xs[0]) * 0.5 || 1;
    const across = [xs[0] - pad, xs[1] + pad];
    const ylabel = showsErrors() ? "observed minus predicted" : `observed ${cut(target)}`;
    rows = frame(byId("rows-figure"), 0.66, across, [low, high], `predicted ${cut(target)}`, ylabel, numberLabels);
    rows.view = [low, high];
    const [a, b] = showsErrors() ? across : [Math.max(across[0], low), Math.min(across[1], high)];
    const height = (value) => rows.y(showsErrors() ? 0 : value);
    add(rows.svg, "line", { class: "diagonal", x1: rows.x(a), y1: height(a), x2: rows.x(b), y2: height(b) });
    rows.layer = add(rows.svg, "g", {});
  }

  function drawCurveFrame() {
    curve = frame(byId("curve-figure"), 1, [0, 1], [0, 1], "nominal coverage", "observed coverage", percentLabels);
    const { x, y, svg } = curve;
    const line = (name) => levels.map((level) => `${x(level.nominal)} ${y(level[name])}`);
    add(svg, "line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) });
    add(svg, "path", { class: "band", d: `M${[...line("high"), ...line("low").reverse()].join("L")}Z` });
    add(svg, "path", { class: "curve", d: `M${line("observed").join("L")}` });
    curve.layer = add(svg, "g", {});
  }

  function wordsOf(missed, all, nominal) {
    if (all === 1) return `The row lies ${missed ? "outside" : "inside"} its ${nominal} interval.`;
    const lie = missed === 1 ? `lies outside its ${nominal} interval (a cross)` : `lie outside their ${nominal} intervals (crosses)`;
    return `${missed} of the ${all} rows shown ${lie}.`;
  }

  function drawRows(index, level) {
    const { x, y, layer, view: [bottom, top] } = rows;
    const from = showsErrors() ? sample.mean : sample.mean.map(() => 0);
    const end = (bound, i, open) => y(clamp(bound === null ? open : bound - from[i], bottom, top)).toFixed(1);
    layer.replaceChildren();
    let missed = 0;
    // Misses last, so that no line hides them.
    for (const wanted of ["1", "0"]) {
      for (let i = 0; i < sample.y.length; i += 1) {
        if (sample.covered[index][i] !== wanted) continue;
        const miss = wanted === "0" ? " miss" : "";
        if (miss) missed += 1;
        const at = x(sample.mean[i]).toFixed(1);
        const ends = { y1: end(sample.lower[index][i], i, bottom), y2: end(sample.upper[index][i], i, top) };
        add(layer, "line", { class: `interval${miss}`, x1: at, x2: at, ...ends });
        const height = y(sample.y[i] - from[i]);
        if (miss) add(layer, "path", { class: "mark miss", d: cross(Number(at), height) });
        else add(layer, "circle", { class: "mark", cx: at, cy: height.toFixed(1), r: 2.4 });
      }
    }
    const words = wordsOf(missed, sample.y.length, level.nominal_text);
    byId("rows-words").textContent = words;
    rows.svg.setAttribute("aria-label", `Observed against predicted ${target} with intervals. ${words}`);
  }

  function drawChosen(level) {
    const { x, y, layer, svg } = curve;
    const at = x(level.nominal);
    layer.replaceChildren();
    add(layer, "line", { class: "chosen", x1: at, x2: at, y1: y(level.low), y2: y(level.high) });
    add(layer, "circle", { class: "chosen", cx: at, cy: y(level.observed), r: 5 });
    const words = `At nominal ${level.nominal_text}, ${level.observed_text} of rows are covered, with limits ${level.limits_text}.`;
    svg.setAttribute("aria-label", `Observed against nominal coverage. ${words}`);
  }

  function update() {
    const index = Number(slider.value);
    const level = levels[index];
    byId("nominal").textContent = level.nominal_text;
    byId("observed").textContent = level.observed_text;
    byId("limits").textContent = level.limits_text;
    byId("width").textContent = level.width_text;
    byId("verdict").textContent = level.verdict;
    slider.setAttribute("aria-valuetext", level.nominal_text);
    drawRows(index, level);
    drawChosen(level);
  }

  function redraw() {
    drawRowsFrame();
    drawCurveFrame();
    update();
  }

  byId("slider").hidden = false;
  redraw();
  slider.addEventListener("input", update);
  for (const button of document.querySelectorAll("input[name=view]")) button.addEventListener("change", redraw);
  let drawnWidth = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === drawnWidth) return;
    drawnWidth = innerWidth;
    redraw();
  });
})();
