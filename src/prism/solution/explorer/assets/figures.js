/* The figures of a field or a curve, their captions, and the cursor in them. */
const figures = (() => {
  const CURSOR_STEPS = 50; // across a figure
  const { shown } = drawing;
  const element = (id) => document.getElementById(id);
  const kept = new Map(); // by name: {node, caption, canvas, frame}
  let heldColours = null; // limits of the last field, while its colours are held

  const minimum = (values) => values.reduce((a, b) => (Number.isFinite(b) ? Math.min(a, b) : a), Infinity);
  const maximum = (values) => values.reduce((a, b) => (Number.isFinite(b) ? Math.max(a, b) : a), -Infinity);
  const norm = (values) => Math.sqrt(values.reduce((sum, v) => (Number.isFinite(v) ? sum + v * v : sum), 0));
  const hasFinite = (values) => values !== null && values.some(Number.isFinite);
  const rangeOf = (values) => {
    const [low, high] = [minimum(values), maximum(values)];
    return `${drawing.shownOver(low, high - low)} to ${drawing.shownOver(high, high - low)}`;
  };
  const minus = (a, b) => a.map((value, p) => value - b[p]);

  /* The figures of these names, in this order; those that are there stay. */
  function arranged(app, names, kind) {
    const parent = element("figures");
    parent.className = kind;
    for (const [name, { node }] of [...kept])
      if (!names.includes(name)) {
        node.remove();
        kept.delete(name);
      }
    for (const name of names) if (!kept.has(name)) kept.set(name, figure(app, name));
    names.forEach((name, place) => {
      const { node } = kept.get(name);
      if (parent.children[place] !== node) parent.insertBefore(node, parent.children[place] ?? null);
    });
    return names.map((name) => kept.get(name));
  }

  function figure(app, name) {
    const node = document.createElement("figure");
    node.innerHTML = `<figcaption></figcaption><canvas tabindex="0" role="img"></canvas>`;
    const [caption, canvas] = node.children;
    canvas.addEventListener("pointerdown", (event) => pointCursor(app, event, name));
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons || event.pointerType === "mouse") pointCursor(app, event, name);
    });
    canvas.addEventListener("keydown", (event) => moveCursor(app, event));
    return { node, caption, canvas, frame: null };
  }

  function pointCursor(app, event, name) {
    const { canvas, frame } = kept.get(name), box = canvas.getBoundingClientRect();
    if (!frame) return;
    const parts = [(event.clientX - box.left - frame.x) / frame.width, 1 - (event.clientY - box.top - frame.y) / frame.height];
    app.cursor = views.axes(app.page, app.state).map(({ low, high }, i) => low + Math.min(1, Math.max(0, parts[i])) * (high - low));
    app.redraw();
  }

  function moveCursor(app, event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const axes = views.axes(app.page, app.state), from = app.cursor ?? axes.map(({ low, high }) => (low + high) / 2);
    app.cursor = from.map((value, i) => {
      const { low, high } = axes[i];
      return Math.min(high, Math.max(low, value + (step[i] * (high - low)) / CURSOR_STEPS));
    });
    app.redraw();
  }

  /* Empty where the domain ends. */
  function masked(page, values, question) {
    if (page.ball_radius === null) return values;
    const norms = network.squaredNorms(page, question), most = page.ball_radius ** 2 * (1 + 1e-6);
    return values.map((value, p) => (norms[p] > most ? NaN : value));
  }

  /* What a view shows for so many values of each axis, or for a part of the first. */
  function computed({ page, state }, counts, part = null) {
    const question = views.question(page, state, counts, part), exact = answers.exact(page, question);
    const found = { question, u: masked(page, answers.predicted(page, question), question), exact: exact && masked(page, exact, question) };
    return { ...found, difference: exact && minus(found.u, found.exact) };
  }

  function field(app, found, sizes) {
    const { page } = app, [across, up] = views.axes(page, app.state), whole = hasFinite(found.exact);
    const reference = whole ? found.exact : found.u;
    let colours = { limits: [minimum(reference), maximum(reference)], reach: whole ? maximum(found.difference.map(Math.abs)) : 0 };
    if (element("hold").checked && heldColours) colours = heldColours;
    heldColours = colours;
    const panels = [["û, prediction", found.u, colours.limits, app.colours.sequential]];
    if (whole) {
      panels.push(["u, exact", found.exact, colours.limits, app.colours.sequential]);
      panels.push(["û − u, error", found.difference, [-colours.reach, colours.reach], app.colours.diverging]);
    }
    const shownPanels = arranged(app, panels.map(([name]) => name), "fields");
    panels.forEach(([name, values, limits, table], number) => {
      const one = shownPanels[number], range = rangeOf(values);
      caption(one, [[name, null], [range, "quiet"]]);
      one.canvas.setAttribute("aria-label", `${name} over ${across.name} and ${up.name} at ${views.inWords(page, app.state)}: ${range}. Arrow keys move the cursor.`);
      one.frame = drawing.field(one.canvas, { values, sizes, across, up, limits, colours: table, cursor: app.cursor });
    });
    element("summary").textContent = `${fieldSummary(page, found, whole)}${others(page)}`;
  }

  function fieldSummary(page, found, whole) {
    if (whole) {
      const largest = shown(maximum(found.difference.map(Math.abs)));
      return `On this slice: largest |û − u| ${largest}, relative L2 error ${shown(norm(found.difference) / norm(found.exact))}.`;
    }
    if (page.slices.without_exact) return page.slices.without_exact;
    return page.slices.exact ? "No exact solution is known at this μ." : "The family has no exact solution to compare with.";
  }

  function others({ slices }) {
    return slices.others > 0 ? ` The other ${slices.others.toLocaleString("en")} coordinates are at the centre.` : "";
  }

  function curve(app, found) {
    const { page, state } = app, axis = found.question.axes[0], along = { ...views.axes(page, state)[0], values: axis.values };
    const reference = found.exact === null ? referenceAlong(page, state, found.question) : null;
    const truth = reference ?? found.exact, whole = hasFinite(truth);
    const mean = blindOf(app, found.question), blind = mean && masked(page, mean, found.question);
    const parameter = axis.kind === "mu" ? page.parameters[axis.index] : null;
    const mark = app.cursor ? app.cursor[0] : parameter ? state.mu[axis.index] : null;
    const span = parameter ? [parameter.low, parameter.high] : null;
    const [main, error] = arranged(app, whole ? ["u", "û − u"] : ["u"], "curves");
    const names = [["━ û, prediction  ", "u"]];
    if (whole) names.push([`╌ u, ${reference ? "reference" : "exact"}  `, "exact"]);
    if (blind) names.push([`┈ μ-blind: the mean over μ of the ${page.slices.exact ? "exact solution" : "prediction"}`, "blind"]);
    caption(main, names);
    const lines = [{ values: found.u, colour: "u", width: 2.5 }];
    if (blind) lines.push({ values: blind, colour: "blind", dash: [2, 3] });
    if (whole) lines.unshift({ values: truth, colour: "exact", dash: [6, 4], width: 1.5 });
    const range = rangeOf(found.u);
    main.canvas.setAttribute("aria-label", `û along ${along.name} at ${views.inWords(page, state)}: ${range}. Arrow keys move the cursor.`);
    main.frame = drawing.curves(main.canvas, { along, lines, name: "u", mark, span });
    if (whole) {
      caption(error, [["û − u, error", null]]);
      error.canvas.setAttribute("aria-label", `error along ${along.name}`);
      const line = { values: minus(found.u, truth), colour: "u" };
      error.frame = drawing.curves(error.canvas, { along, lines: [line], name: "û − u", mark, span });
    }
    element("summary").textContent = `${curveSummary(page, found.u, truth, blind)} Coordinates without a slider are at the centre.`;
  }

  function curveSummary(page, u, truth, blind) {
    if (!hasFinite(truth)) return "";
    const inside = (values) => values.map((value, p) => (Number.isFinite(truth[p]) ? value : NaN)), size = norm(truth);
    if (!(size > 1e-6 * page.slices.size * Math.sqrt(truth.length))) return "u vanishes on this curve.";
    const error = (values) => shown(norm(inside(minus(values, truth))) / size);
    return `On this curve: relative L2 error ${error(u)}${blind ? `, of the μ-blind answer ${error(blind)}` : ""}.`;
  }

  /* Where a curve over a parameter passes the point at which the family knows u, the references along it. */
  function referenceAlong(page, state, question) {
    const { reference } = page.slices, [axis] = question.axes;
    const same = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b));
    if (!reference || axis.kind !== "mu" || (reference.time !== null && !same(question.time, reference.time))) return null;
    const at = (moved, k) => moved[k] ?? page.slices.coordinates[k].base;
    if (!page.slices.coordinates.every((_, k) => same(at(question.space, k), at(reference.space, k)))) return null;
    const mu = (value) => state.mu.map((own, p) => (p === axis.index ? value : own));
    return Float64Array.from(axis.values, (value) => tables.overParameters(page, reference, mu(value)));
  }

  /* The μ-blind answer, which changes with the curve alone. */
  let blindKept = { key: null, values: null };

  function blindOf({ page }, question) {
    const time = question.axes[0].kind === "t" ? null : question.time, names = page.slices.coordinates.map(({ name }) => name);
    const key = JSON.stringify([question.axes[0].name, question.axes[0].values.length, question.space, time, names]);
    if (blindKept.key !== key) blindKept = { key, values: answers.blind(page, question) };
    return blindKept.values;
  }

  function caption(one, parts) {
    one.caption.replaceChildren(
      ...parts.map(([text, colour]) => {
        const word = document.createElement("span");
        word.textContent = `${text} `;
        if (colour) word.style.color = `var(--${colour})`;
        return word;
      }),
    );
  }

  const forgetColours = () => (heldColours = null);
  const all = () => [...kept.values()];
  return { computed, field, curve, all, forgetColours };
})();
