// The chart of races: accuracy of the chosen policies against seconds or bytes, from the JSON of the page.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("races").textContent);
  const form = document.getElementById("choices");
  const policies = document.getElementById("policies");
  const chart = document.getElementById("chart");
  const readout = document.getElementById("readout");
  const body = document.querySelector("#table tbody");
  const DASHES = ["", "6 3", "2 3", "8 3 2 3", "12 4", "4 2 1 2"];
  const MARGIN = { top: 20, right: 134, bottom: 44, left: 40 };
  const LINE_GAP = 15;
  const group = new Map(data.groups.flatMap((found, place) => found.policies.map((name, nth) => [name, { ...found, place, nth }])));
  let cursor = null;

  // ---- what is chosen ----
  const field = (name) => form.elements[name].value;
  const study = () => data.studies.find((found) => found.name === field("study"));
  const boxes = () => [...policies.querySelectorAll("input")];
  const entrants = () =>
    study().entrants.filter((found) => found.cluster === field("cluster") && found.selector === field("selector"));
  const drawn = () => {
    const names = new Set(boxes().filter((box) => box.checked).map((box) => box.value));
    return entrants().filter((found) => names.has(found.policy));
  };
  const abscissae = (entrant) => (field("axis") === "seconds" ? study().seconds : entrant.megabytes);
  const dash = (name) => DASHES[(group.get(name)?.nth ?? 0) % DASHES.length];
  const colour = (name) => `var(--group-${group.get(name)?.place ?? "none"})`;

  // ---- small helpers ----
  const svg = (tag, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const ticks = (low, high, wanted) => {
    const rough = (high - low) / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, place) => +((first + place) * step).toPrecision(6));
  };
  const path = (points) => points.map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const shown = (value, unit = "") => (value === null || value === undefined ? "–" : `${value}${unit}`);

  // ---- the chart ----
  const scales = (lines, width, height) => {
    const right = Math.max(...lines.map((found) => abscissae(found).at(-1)), 1e-9);
    const values = lines.flatMap((found) => [...found.accuracy, ...(form.elements.bands.checked && found.high ? found.high : [])]);
    const top = Math.min(100, Math.ceil(Math.max(...values, 10) / 10) * 10);
    const x = (value) => MARGIN.left + ((width - MARGIN.left - MARGIN.right) * value) / right;
    const y = (value) => height - MARGIN.bottom - ((height - MARGIN.top - MARGIN.bottom) * Math.min(Math.max(value, 0), top)) / top;
    return { x, y, right, top };
  };

  const axes = (picture, { x, y, right, top }, width, height) => {
    for (const tick of ticks(0, top, 6)) {
      picture.append(svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }));
      picture.append(svg("text", { class: "tick", x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" }, tick));
    }
    for (const tick of ticks(0, right, width < 560 ? 4 : 7))
      picture.append(svg("text", { class: "tick", x: x(tick), y: height - MARGIN.bottom + 18, "text-anchor": "middle" }, tick));
    const words = form.elements.axis.selectedOptions[0].textContent;
    picture.append(svg("text", { class: "axis", x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 6, "text-anchor": "middle" }, words));
    picture.append(svg("text", { class: "axis", x: MARGIN.left, y: 9 }, "test accuracy, %"));
    picture.append(svg("line", { class: "target", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(study().target), y2: y(study().target) }));
    picture.append(svg("text", { class: "tick", x: MARGIN.left + 4, y: y(study().target) - 5 }, "target"));
  };

  // Names stand at the ends of their lines, moved apart so that none covers another.
  const names = (picture, lines, { x, y }, height) => {
    const ends = lines.map((found) => ({ found, y: y(found.accuracy.at(-1)) })).sort((one, other) => one.y - other.y);
    ends.forEach((end, place) => (end.at = place ? Math.max(end.y, ends[place - 1].at + LINE_GAP) : end.y));
    const over = ends.length ? Math.max(0, ends.at(-1).at - (height - MARGIN.bottom)) : 0;
    for (let place = ends.length - 1; place >= 0 && over; place -= 1)
      ends[place].at = Math.min(ends[place].at, (place + 1 < ends.length ? ends[place + 1].at : height - MARGIN.bottom + LINE_GAP) - LINE_GAP);
    for (const { found, y: from, at } of ends) {
      const end = x(abscissae(found).at(-1));
      picture.append(svg("path", { d: `M${end + 2} ${from}L${end + 10} ${at}`, class: "leader", style: `stroke:${colour(found.policy)}` }));
      picture.append(svg("text", { class: "name", x: end + 13, y: at + 4, style: `fill:${colour(found.policy)}`, "data-policy": found.policy }, found.policy));
    }
  };

  const draw = () => {
    const width = Math.max(chart.clientWidth, 320);
    const height = Math.round(Math.min(Math.max(width * 0.55, 300), 520));
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
    const lines = drawn();
    const scale = scales(lines, width, height);
    axes(picture, scale, width, height);
    const points = (found, values) => values.map((value, place) => [scale.x(abscissae(found)[place]), scale.y(value)]);
    if (form.elements.bands.checked)
      for (const found of lines.filter((entrant) => entrant.low))
        picture.append(svg("path", { class: "band", "data-policy": found.policy, style: `fill:${colour(found.policy)}`, d: `${path(points(found, found.low))}${path(points(found, found.high).reverse()).replace("M", "L")}Z` }));
    for (const found of lines)
      picture.append(svg("path", { class: "line", "data-policy": found.policy, style: `stroke:${colour(found.policy)}`, "stroke-dasharray": dash(found.policy), d: path(points(found, found.accuracy)) }));
    names(picture, lines, scale, height);
    if (cursor !== null && lines.length) {
      const at = scale.x(cursor * scale.right);
      picture.append(svg("line", { class: "cursor", x1: at, x2: at, y1: MARGIN.top, y2: height - MARGIN.bottom }));
    }
    chart.replaceChildren(picture);
    chart.dataset.lines = lines.length;
    read(lines, scale.right);
  };

  const read = (lines, right) => {
    if (cursor === null || !lines.length) {
      readout.textContent = lines.length ? "Point at the chart, or use the arrow keys on it, to read values." : "No policy is chosen.";
      return;
    }
    const unit = field("axis") === "seconds" ? "s" : "MB";
    const found = lines
      .map((entrant) => {
        const at = abscissae(entrant);
        const place = at.reduce((best, value, nth) => (Math.abs(value - cursor * right) < Math.abs(at[best] - cursor * right) ? nth : best), 0);
        return { policy: entrant.policy, accuracy: entrant.accuracy[place], at: at[place] };
      })
      .sort((one, other) => other.accuracy - one.accuracy);
    readout.textContent = `${(cursor * right).toFixed(0)} ${unit}: ${found.map(({ policy, accuracy }) => `${policy} ${accuracy} %`).join(", ")}`;
  };

  // ---- the table ----
  const table = () => {
    const rows = entrants().map((found) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.append(Object.assign(document.createElement("code"), { textContent: found.policy }));
      const cells = [
        found.accuracy.at(-1),
        found.low ? `${found.low.at(-1)} to ${found.high.at(-1)}` : "–",
        shown(found.target_seconds),
        found.sooner === null ? "–" : found.sooner || "inconclusive",
        shown(found.target_megabytes),
        shown(found.waiting),
      ].map((text, place) => Object.assign(document.createElement("td"), { textContent: text, className: place === 3 ? "" : "number" }));
      row.append(head, ...cells);
      return row;
    });
    body.replaceChildren(...rows);
    const words = ["study", "cluster", "selector"].map((name) => form.elements[name].selectedOptions[0].textContent);
    document.getElementById("table-words").textContent = `${words.join(" · ")}; target ${study().target} %, ${study().seed_count} seeds.`;
  };

  // ---- choices ----
  const listed = () => {
    const before = new Map(boxes().map((box) => [box.value, box.checked]));
    const chosen = new Set(data.chosen);
    policies.querySelectorAll("div.group").forEach((old) => old.remove());
    const there = new Set(entrants().map((found) => found.policy));
    for (const found of data.groups) {
      const members = found.policies.filter((name) => there.has(name));
      if (!members.length) continue;
      const box = Object.assign(document.createElement("div"), { className: "group" });
      box.append(Object.assign(document.createElement("span"), { textContent: found.title, className: "quiet" }));
      for (const name of members) {
        const label = document.createElement("label");
        const input = Object.assign(document.createElement("input"), { type: "checkbox", value: name, name: "policy" });
        input.checked = before.get(name) ?? chosen.has(name);
        const swatch = svg("svg", { viewBox: "0 0 26 10", class: "swatch", "aria-hidden": "true" });
        swatch.append(svg("line", { x1: 1, x2: 25, y1: 5, y2: 5, style: `stroke:${colour(name)}`, "stroke-dasharray": dash(name) }));
        label.append(input, swatch, Object.assign(document.createElement("code"), { textContent: name }));
        const mark = (on) => chart.querySelectorAll(`[data-policy="${name}"]`).forEach((part) => part.classList.toggle("marked", on));
        label.addEventListener("pointerenter", () => mark(true));
        label.addEventListener("pointerleave", () => mark(false));
        input.addEventListener("focus", () => mark(true));
        input.addEventListener("blur", () => mark(false));
        box.append(label);
      }
      policies.append(box);
    }
  };

  // A study need not have raced in every cluster: choices that it lacks cannot be chosen.
  const offered = () => {
    for (const name of ["cluster", "selector"]) {
      const there = new Set(study().entrants.map((found) => found[name]));
      const select = form.elements[name];
      for (const option of select.options) option.disabled = !there.has(option.value);
      if (select.selectedOptions[0]?.disabled) select.value = [...select.options].find((option) => !option.disabled).value;
    }
  };

  const update = (event) => {
    if (event?.target?.name === "study") offered();
    if (event?.target?.name !== "policy") {
      listed();
      table();
    }
    draw();
  };

  form.addEventListener("change", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  policies.addEventListener("click", ({ target }) => {
    if (!target.dataset.choose) return;
    for (const box of boxes()) box.checked = target.dataset.choose === "all";
    draw();
  });
  const move = (share) => {
    cursor = Math.min(Math.max(share, 0), 1);
    draw();
  };
  chart.addEventListener("pointermove", ({ clientX }) => {
    const box = chart.getBoundingClientRect();
    move((clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right));
  });
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    move((cursor ?? (step > 0 ? 0 : 1)) + step / (study().seconds.length - 1));
  });
  form.hidden = false;
  chart.hidden = false;
  offered();
  update();
  new ResizeObserver(draw).observe(chart);
})();
