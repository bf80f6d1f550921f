/* The page: sliders, figures, and what is said of them. */
(() => {
  const COARSE = 40, FINE = 96, ROWS = 8, PATIENCE = 140, CURVE = 161, SECONDS = 5;
  const element = (id) => document.getElementById(id);
  const content = JSON.parse(element("content").textContent);
  const colours = Object.fromEntries(
    Object.entries(content.colours).map(([name, data]) => [name, Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]),
  );
  let page = answers.opened(content), state = looking.told(page, location.hash);
  let cursor = null, shownLimits = null, refining = 0, playing = null, blindCache = { key: null, values: null };
  const { shown } = drawing;

  /* ---- sliders ---- */

  const STEPS = 1000;
  const uniform = (value) => (page.network.logarithmic ? Math.log(value) : value);
  const fromUniform = (t) => (page.network.logarithmic ? Math.exp(t) : t);

  /* A slider with a number beside it. `scale` takes values to where the slider is uniform and back, `least` and `most`
     are its ends, `trained` the part that is marked. */
  function slider({ name, note, scale, least, most, trained, read, write, disabled }) {
    const row = document.createElement("div");
    row.className = "slider";
    row.innerHTML = `<label></label><input type="range" min="0" max="${STEPS}" step="1"><input type="number" step="any"><span></span><small></small>`;
    const [label, range, exact, extra, small] = row.children;
    label.textContent = name;
    label.htmlFor = range.id = `slider-${name}`;
    exact.id = `number-${name}`;
    exact.setAttribute("aria-label", `${name}, as a number`);
    small.textContent = note;
    const [low, high] = [scale.to(least), scale.to(most)];
    ["--from", "--to"].forEach((end, i) => small.style.setProperty(end, `${(100 * (scale.to(trained[i]) - low)) / (high - low)}%`));
    range.disabled = exact.disabled = disabled;
    const show = () => {
      const value = read();
      range.value = String(Math.round((STEPS * (scale.to(value) - low)) / (high - low)));
      range.setAttribute("aria-valuetext", shown(value, 4));
      if (document.activeElement !== exact) exact.value = String(Number(value.toPrecision(4)));
    };
    range.addEventListener("input", () => {
      write(scale.from(low + ((high - low) * Number(range.value)) / STEPS));
      changed();
    });
    exact.addEventListener("change", () => {
      const value = Number(exact.value);
      if (exact.value !== "" && Number.isFinite(value)) write(Math.min(most, Math.max(least, value)));
      changed();
    });
    element("sliders").append(row);
    return { show, row, extra };
  }

  const linear = { to: (value) => value, from: (value) => value };
  const sliders = page.parameters.map((parameter, p) =>
    slider({
      name: parameter.name,
      note: page.tuned_at ? "tuned for this value" : `trained from ${shown(parameter.low)} to ${shown(parameter.high)}`,
      scale: { to: uniform, from: fromUniform },
      least: parameter.from,
      most: parameter.to,
      trained: [parameter.low, parameter.high],
      read: () => state.mu[p],
      write: (value) => (state.mu = state.mu.map((own, q) => (q === p ? value : own))),
      disabled: page.tuned_at !== null,
    }),
  );

  let timeSlider = null;
  if (page.slices.time) {
    const { low, high } = page.slices.time;
    timeSlider = slider({
      name: "t",
      note: `time, from ${shown(low)} to ${shown(high)}`,
      scale: linear,
      least: low,
      most: high,
      trained: [low, high],
      read: () => state.time,
      write: (value) => (state.time = value),
      disabled: false,
    });
    const play = document.createElement("button");
    play.type = "button";
    play.id = "play";
    play.textContent = "▶";
    play.setAttribute("aria-label", "play time");
    play.setAttribute("aria-pressed", "false");
    play.addEventListener("click", () => (playing === null ? begin() : pause()));
    timeSlider.extra.append(play);
  }

  function begin() {
    const { low, high } = page.slices.time, from = performance.now(), start = state.time >= high ? low : state.time;
    const step = (now) => {
      if (playing === null) return;
      state.time = low + ((start - low + ((now - from) / 1000 / SECONDS) * (high - low)) % (high - low));
      changed();
      playing = requestAnimationFrame(step);
    };
    playing = requestAnimationFrame(step);
    said();
  }

  function pause() {
    cancelAnimationFrame(playing);
    playing = null;
    said();
    changed();
  }

  function said() {
    element("play").textContent = playing === null ? "▶" : "❚❚";
    element("play").setAttribute("aria-pressed", String(playing !== null));
    element("play").setAttribute("aria-label", playing === null ? "play time" : "stop time");
  }

  /* Sliders of the coordinates that a curve does not run along. */
  let pointSliders = new Map();

  function held() {
    const slots = state.view === "curve" ? looking.still(page, state) : [], names = slots.map(({ name }) => name);
    for (const [name, { row }] of pointSliders) if (!names.includes(name)) row.remove() ?? pointSliders.delete(name);
    for (const slot of slots) {
      if (pointSliders.has(slot.name)) continue;
      const read = () => state.point[slot.name] ?? looking.base(page, slot);
      const write = (value) => (state.point = { ...state.point, [slot.name]: value });
      const limits = { least: slot.low, most: slot.high, trained: [slot.low, slot.high] };
      pointSliders.set(slot.name, slider({ name: slot.name, note: "held along the curve", scale: linear, ...limits, read, write, disabled: false }));
    }
    pointSliders.forEach(({ show }) => show());
  }

  /* ---- choices ---- */

  function fill(select, names, value) {
    select.replaceChildren(...names.map((name) => new Option(name, name, false, name === value)));
    select.value = value;
  }

  function choices() {
    const all = [...looking.slots(page).values()], places = all.filter(looking.isPlace).map(({ name }) => name);
    fill(element("across"), places, state.across);
    fill(element("up"), places, state.up);
    fill(element("along"), all.filter(({ kind }) => kind !== "mu" || !page.tuned_at).map(({ name }) => name), state.along);
    element("view").value = state.view;
    element("view").disabled = places.length < 2;
    document.querySelectorAll(".of-field").forEach((label) => (label.hidden = state.view !== "field"));
    document.querySelectorAll(".of-curve").forEach((label) => (label.hidden = state.view !== "curve"));
    const timeIsAxis = state.view === "field" ? [state.across, state.up].includes("t") : state.along === "t";
    if (timeSlider) timeSlider.row.hidden = timeIsAxis;
    if (timeIsAxis && playing !== null) pause();
  }

  for (const [id, other] of [["across", "up"], ["up", "across"]])
    element(id).addEventListener("change", (event) => {
      if (event.target.value === state[other]) state[other] = state[id];
      state[id] = event.target.value;
      cursor = null;
      changed(true);
    });
  for (const id of ["view", "along"])
    element(id).addEventListener("change", (event) => {
      state[id] = event.target.value;
      cursor = null;
      changed(true);
    });
  element("hold").addEventListener("change", () => changed());
  element("reset").addEventListener("click", () => {
    const first = looking.start(page);
    state = { ...state, mu: first.mu, time: first.time, point: {} };
    changed();
  });
  element("controls").addEventListener("submit", (event) => event.preventDefault());

  /* ---- figures ---- */

  const figures = new Map();

  /* The figures by name, in this order; a canvas is kept as long as its figure is there. */
  function arranged(names, kind) {
    const parent = element("figures");
    parent.className = kind;
    for (const [name, { node }] of figures) if (!names.includes(name)) node.remove() ?? figures.delete(name);
    for (const name of names) {
      if (figures.has(name)) continue;
      const node = document.createElement("figure");
      node.innerHTML = `<figcaption></figcaption><canvas tabindex="0" role="img"></canvas>`;
      const [caption, canvas] = node.children;
      figures.set(name, { node, caption, canvas, frame: null });
      canvas.addEventListener("pointerdown", (event) => pointed(event, name));
      canvas.addEventListener("pointermove", (event) => (event.buttons || event.pointerType === "mouse") && pointed(event, name));
      canvas.addEventListener("keydown", walked);
    }
    names.forEach((name) => parent.append(figures.get(name).node));
    return names.map((name) => figures.get(name));
  }

  function axesNow() {
    const slots = looking.slots(page);
    return (state.view === "field" ? [state.across, state.up] : [state.along]).map((name) => slots.get(name));
  }

  function pointed(event, name) {
    const { canvas, frame } = figures.get(name), box = canvas.getBoundingClientRect();
    if (!frame) return;
    const parts = [(event.clientX - box.left - frame.x) / frame.width, 1 - (event.clientY - box.top - frame.y) / frame.height];
    cursor = axesNow().map(({ low, high }, i) => low + Math.min(1, Math.max(0, parts[i])) * (high - low));
    redrawn();
  }

  function walked(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const axes = axesNow();
    cursor ??= axes.map(({ low, high }) => (low + high) / 2);
    cursor = cursor.map((value, i) => Math.min(axes[i].high, Math.max(axes[i].low, value + (step[i] * (axes[i].high - axes[i].low)) / 50)));
    redrawn();
  }

  /* Empty where the domain ends. */
  function masked(values, question) {
    if (page.ball_radius === null) return values;
    const norms = network.squaredNorms(page, question), most = page.ball_radius ** 2 * (1 + 1e-6);
    return values.map((value, p) => (norms[p] > most ? NaN : value));
  }

  function computed(counts, part = null) {
    const question = looking.question(page, state, counts, part);
    const exact = answers.exact(page, question);
    const result = { question, u: masked(answers.predicted(page, question), question), exact: exact && masked(exact, question) };
    result.difference = exact && result.u.map((value, p) => value - result.exact[p]);
    return result;
  }

  const least = (values) => values.reduce((a, b) => (Number.isFinite(b) ? Math.min(a, b) : a), Infinity);
  const most = (values) => values.reduce((a, b) => (Number.isFinite(b) ? Math.max(a, b) : a), -Infinity);
  const root = (values) => Math.sqrt(values.reduce((sum, v) => (Number.isFinite(v) ? sum + v * v : sum), 0));
  const here = () => page.parameters.map(({ name }, p) => `${name} = ${shown(state.mu[p], 4)}`).join(", ");
  const knows = (values) => values !== null && values.some(Number.isFinite);

  let drawn = null;

  function drawField(found, sizes) {
    const [across, up] = axesNow(), whole = knows(found.exact);
    const reference = whole ? found.exact : found.u;
    let limits = [least(reference), most(reference)], reach = whole ? most(found.difference.map(Math.abs)) : 0;
    if (element("hold").checked && shownLimits) [limits, reach] = shownLimits;
    shownLimits = [limits, reach];
    const panels = [["û, prediction", found.u, limits, colours.sequential]];
    if (whole) panels.push(["u, exact", found.exact, limits, colours.sequential]);
    if (whole) panels.push(["û − u, difference", found.difference, [-reach, reach], colours.diverging]);
    const shownPanels = arranged(panels.map(([name]) => name), "fields");
    panels.forEach(([name, values, between, table], number) => {
      const figure = shownPanels[number];
      figure.caption.innerHTML = "<span></span> <small></small>";
      figure.caption.children[0].textContent = name;
      figure.caption.children[1].textContent = `${shown(least(values))} to ${shown(most(values))}`;
      figure.canvas.setAttribute("aria-label", `${name} over ${across.name} and ${up.name} at ${here()}: from ${shown(least(values))} to ${shown(most(values))}. Arrow keys move the cursor.`);
      figure.frame = drawing.field(figure.canvas, { values, sizes, across, up, limits: between, colours: table, cursor });
    });
    let text = whole
      ? `On this slice: largest |û − u| ${shown(reach)}, relative L2 error ${shown(root(found.difference) / root(found.exact))}.`
      : page.slices.without_exact ?? (page.slices.exact ? "No exact solution is known at this μ." : "The family has no exact solution to compare with.");
    if (page.slices.others > 0) text += ` The other ${page.slices.others.toLocaleString("en")} coordinates are at the centre.`;
    element("summary").textContent = text;
  }

  /* The μ-blind answer changes with the slice alone. */
  function blindNow(question) {
    const time = question.axes[0].kind === "t" ? null : state.time, names = page.slices.coordinates.map(({ name }) => name);
    const key = JSON.stringify([question.axes[0].name, question.space, time, names]);
    if (blindCache.key !== key) blindCache = { key, values: answers.blind(page, question) };
    return blindCache.values;
  }

  function drawCurve(found) {
    const axis = found.question.axes[0], along = { ...axesNow()[0], values: axis.values };
    const reference = found.exact === null ? referenceAlong(found.question) : null;
    if (reference) found = { ...found, exact: reference, difference: found.u.map((value, p) => value - reference[p]) };
    const whole = knows(found.exact), truth = reference ? "u, reference" : "u, exact";
    const blind = masked(blindNow(found.question), found.question);
    const lines = [{ values: found.u, colour: "u", width: 2.5 }];
    if (whole) lines.unshift({ values: found.exact, colour: "exact", dash: [6, 4], width: 1.5 });
    lines.push({ values: blind, colour: "blind", dash: [2, 3] });
    const parameter = axis.kind === "mu" ? page.parameters[axis.index] : null;
    const own = { x: () => null, t: () => null, mu: () => state.mu[axis.index] }[axis.kind]();
    const mark = cursor ? cursor[0] : own, span = parameter ? [parameter.low, parameter.high] : null;
    const [main, other] = arranged(whole ? ["u", "û − u"] : ["u"], "curves");
    const from = page.slices.exact ? "the mean over μ of the exact solution" : "the mean over μ of the prediction";
    main.caption.innerHTML = "";
    for (const [name, text] of [["u", "━ û, prediction"], ...(whole ? [["exact", `╌ ${truth}`]] : []), ["blind", `┈ μ-blind: ${from}`]]) {
      const word = document.createElement("span");
      word.style.color = `var(--${name})`;
      word.textContent = `${text}   `;
      main.caption.append(word);
    }
    main.canvas.setAttribute("aria-label", `u along ${along.name} at ${here()}: from ${shown(least(found.u))} to ${shown(most(found.u))}. Arrow keys move the cursor.`);
    main.frame = drawing.curves(main.canvas, { along, lines, name: "u", mark, span });
    if (whole) {
      other.caption.textContent = "û − u, difference";
      other.canvas.setAttribute("aria-label", `difference along ${along.name}`);
      other.frame = drawing.curves(other.canvas, { along, lines: [{ values: found.difference, colour: "u" }], name: "û − u", mark, span });
    }
    const known = (values) => root(values.map((value, p) => (Number.isFinite(found.exact[p]) ? value : NaN)));
    const size = whole ? root(found.exact) : 0, blindError = whole ? known(blind.map((value, p) => value - found.exact[p])) / size : null;
    let text = size > 1e-6 * page.slices.size * Math.sqrt(axis.values.length) ? `On this curve: relative L2 error ${shown(known(found.difference) / size)}, of the μ-blind answer ${shown(blindError)}.` : whole ? "u vanishes on this curve." : "";
    if (page.slices.others > 0 || axis.kind !== "x") text += " Coordinates without a slider are at the centre.";
    element("summary").textContent = text;
  }

  function reading() {
    if (!cursor) return void (element("reading").textContent = "");
    const axes = axesNow(), question = looking.question(page, state, [2, 2]);
    question.axes = [];
    axes.forEach((axis, i) => {
      if (axis.kind === "x") question.space[axis.index] = cursor[i];
      if (axis.kind === "t") question.time = cursor[i];
      if (axis.kind === "mu") question.mu = question.mu.map((value, p) => (p === axis.index ? cursor[i] : value));
    });
    const u = answers.predicted(page, question)[0], exact = answers.exact(page, question);
    const place = axes.map(({ name }, i) => `${name} = ${shown(cursor[i], 4)}`).join(", ");
    const truth = exact && Number.isFinite(exact[0]) ? `, u = ${shown(exact[0], 6)}, û − u = ${shown(u - exact[0])}` : "";
    const beyond = answers.outside(page, question)[0] ? `; beyond where points were drawn (${page.region_in_words})` : "";
    element("reading").textContent = `At ${place}: û = ${shown(u, 6)}${truth}${beyond}`;
  }

  /* The reference at the one point where there is one. */
  function referred() {
    const found = answers.known(page, state.mu);
    if (found === null) return;
    const names = page.slices.coordinates.map(({ name }) => name), moved = Object.entries(found.space);
    const place = moved.length ? moved.map(([k, value]) => `${names[k]} = ${shown(value, 4)}`).join(", ") : "the centre";
    const where = found.time === null ? place : `${place}, t = ${shown(found.time, 4)}`;
    element("known").textContent = Number.isFinite(found.value)
      ? `Reference at ${where}: u = ${shown(found.value, 7)} ± ${shown(found.uncertainty, 2)}; û = ${shown(found.u, 7)}, û − u = ${shown(found.u - found.value, 2)}.`
      : `No reference at ${where} is in this page for μ outside the trained box.`;
  }

  /* Where a curve over a parameter passes the known point, the references along it. */
  function referenceAlong(question) {
    const { known } = page.slices, [axis] = question.axes, same = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b));
    if (!known || axis.kind !== "mu" || (known.time !== null && !same(question.time, known.time))) return null;
    const at = (places, k) => places[k] ?? page.slices.coordinates[k].base;
    if (!page.slices.coordinates.every((_, k) => same(at(question.space, k), at(known.space, k)))) return null;
    return Float64Array.from(axis.values, (value) => tables.overParameters(page, known, state.mu.map((own, p) => (p === axis.index ? value : own))));
  }

  /* ---- trust ---- */

  function trusted() {
    const found = trust.at(page, state.mu), parts = [];
    const beyond = found.beyond.map((far, p) => (far > 0 ? `${page.parameters[p].name} by ${shown(far, 2)} box widths` : "")).filter(Boolean);
    const words = found.tuned ? (found.inside ? "● the μ it was tuned for" : "▲ not the μ it was tuned for") : found.inside ? "● inside the trained box" : `▲ outside the trained box: ${beyond.join(", ")}`;
    if (found.error !== undefined) parts.push(`estimated relative error ${shown(found.error, 2)} (${shown(found.low, 2)} to ${shown(found.high, 2)})`);
    else parts.push(`error unknown: ${found.reason}`);
    if (found.residual !== undefined) parts.push(`residual ${shown(found.residual, 2)}, larger than at ${Math.round(100 * found.quantile)} % of the box`);
    const line = element("trust");
    line.textContent = `${words}; ${parts.join("; ")}`;
    line.className = found.inside ? "" : "outside";
  }

  /* ---- the loop ---- */

  let pending = null, since = null;

  function changed(chosen = false) {
    if (chosen) shownLimits = null;
    since ??= performance.now();
    pending ??= requestAnimationFrame(() => {
      pending = null;
      draw();
    });
  }

  function draw() {
    clearTimeout(refining);
    choices();
    sliders.forEach(({ show }) => show());
    timeSlider?.show();
    held();
    const sizes = state.view === "field" ? [COARSE, COARSE] : [CURVE, 1];
    drawn = { found: computed(sizes), sizes };
    redrawn();
    trusted();
    referred();
    document.documentElement.dataset.milliseconds = (performance.now() - since).toFixed(1);
    document.documentElement.dataset.grid = String(sizes[0]);
    since = null;
    refining = setTimeout(() => settled(), PATIENCE);
  }

  function redrawn() {
    if (drawn === null) return;
    state.view === "field" ? drawField(drawn.found, drawn.sizes) : drawCurve(drawn.found);
    reading();
  }

  /* Once nothing moves: the address, and a finer grid, some rows at a time. */
  function settled() {
    try {
      history.replaceState(null, "", looking.address(page, state));
    } catch {
      location.replace(looking.address(page, state)); // a browser that keeps files from changing their history
    }
    if (state.view !== "field") return;
    const whole = { u: [], exact: [], difference: [] };
    let first = 0;
    const next = () => {
      const part = computed([FINE, FINE], [first, Math.min(FINE, first + ROWS)]);
      for (const name of Object.keys(whole)) whole[name].push(...(part[name] ?? []));
      first += ROWS;
      if (first < FINE) return void (refining = setTimeout(next, 0));
      const joined = Object.fromEntries(Object.entries(whole).map(([name, values]) => [name, values.length ? Float64Array.from(values) : null]));
      drawn = { found: { ...joined, question: part.question }, sizes: [FINE, FINE] };
      redrawn();
      document.documentElement.dataset.grid = String(FINE);
    };
    refining = setTimeout(next, 0);
  }

  /* ---- sharing ---- */

  element("png").addEventListener("click", () => picture().toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${page.family}-${state.view}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }));

  /* What is seen, as one picture. */
  function picture() {
    const canvases = [...figures.values()], ratio = canvases[0].canvas.width / canvases[0].canvas.clientWidth;
    const found = document.createElement("canvas"), top = 44 * ratio, line = 20 * ratio;
    found.width = canvases.reduce((sum, { canvas }) => sum + canvas.width, 0);
    found.height = top + line + Math.max(...canvases.map(({ canvas }) => canvas.height));
    const context = found.getContext("2d");
    context.fillStyle = drawing.colour("paper");
    context.fillRect(0, 0, found.width, found.height);
    context.fillStyle = drawing.colour("ink");
    context.font = `bold ${15 * ratio}px system-ui, sans-serif`;
    const time = page.slices.time && !timeSlider.row.hidden ? `, t = ${shown(state.time)}` : "";
    context.fillText(`${page.title} at ${here()}${time}`, 10 * ratio, 18 * ratio);
    context.font = `${12 * ratio}px system-ui, sans-serif`;
    context.fillText(element("trust").textContent, 10 * ratio, 36 * ratio);
    let x = 0;
    for (const { canvas, caption } of canvases) {
      context.fillText(caption.textContent, x + 10 * ratio, top + 14 * ratio);
      context.drawImage(canvas, x, top + line);
      x += canvas.width;
    }
    return found;
  }

  element("link").addEventListener("click", async () => {
    const address = location.href.split("#")[0] + looking.address(page, state);
    try {
      await navigator.clipboard.writeText(address);
      element("link").textContent = "copied";
    } catch {
      prompt("The link to what you see:", address);
    }
    setTimeout(() => (element("link").textContent = "copy the link"), 1500);
  });

  /* ---- a server behind the page ---- */

  if (page.served) {
    element("more").hidden = false;
    element("add").addEventListener("click", add);
    element("coordinate").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      add();
    });
  }

  async function add() {
    const name = element("coordinate").value.trim();
    if (!name) return;
    const kept = page.slices.coordinates.map((one) => one.name).filter((one) => one !== name);
    const names = [...kept.slice(-(page.most_coordinates - 1)), name];
    element("added").textContent = "computing ...";
    try {
      const answer = await fetch(`slices?coordinates=${encodeURIComponent(names.join(","))}`);
      const told = await answer.json();
      if (!answer.ok) throw new Error(told.error);
      page = answers.withSlices(page, told);
      state = { ...looking.told(page, looking.address(page, state)), [state.view === "field" ? "across" : "along"]: name };
      blindCache = { key: null, values: null };
      element("added").textContent = checked() ? `${name} is there` : "";
      changed(true);
    } catch (error) {
      element("added").textContent = String(error.message ?? error);
    }
  }

  /* ---- the beginning ---- */

  /* Whether the page computes what PRISM computed. */
  function checked() {
    const found = answers.selfCheck(page), line = element("check");
    const good = found.predicted <= page.agreement && (found.exact === null || found.exact <= 10 * page.agreement);
    const of = `${found.count} values that PRISM computed`;
    line.className = good ? "good" : "bad";
    line.textContent = good
      ? `✓ checked against ${of}: they differ by ${shown(found.predicted, 2)} of the solution's size at most`
      : `✗ this page does not agree with ${of}: they differ by ${shown(Math.max(found.predicted, found.exact ?? 0), 2)} of the solution's size`;
    document.documentElement.dataset.check = good ? "good" : "bad";
    return good;
  }

  for (const remark of page.remarks) {
    const item = document.createElement("li");
    item.textContent = remark;
    element("remarks").append(item);
  }
  addEventListener("hashchange", () => {
    state = looking.told(page, location.hash);
    cursor = null;
    changed(true);
  });
  addEventListener("resize", () => redrawn());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redrawn());
  checked();
  changed(true);
})();
