/* What is looked at: μ, time, the view and its axes; kept in the address, so that a link shows the same. */
const views = (() => {
  /* Every axis that can be chosen, by name. */
  function slots(page) {
    const found = new Map();
    page.slices.coordinates.forEach(({ name, low, high }, index) => found.set(name, { kind: "x", index, name, low, high }));
    const { time } = page.slices;
    if (time) found.set("t", { kind: "t", index: 0, name: "t", low: time.low, high: time.high });
    page.parameters.forEach((parameter, index) => {
      const name = found.has(parameter.name) ? `${parameter.name} (parameter)` : parameter.name;
      found.set(name, { kind: "mu", index, name, low: parameter.from, high: parameter.to });
    });
    return found;
  }

  const isCoordinate = ({ kind }) => kind !== "mu";

  /* To where values of an axis are spaced evenly, and back: parameters by their law. */
  function scaleOf(page, { kind }) {
    const same = (value) => value;
    if (kind !== "mu") return { to: same, from: same };
    return { to: (value) => network.uniform(page, value), from: (t) => network.fromUniform(page, t) };
  }

  /* Where a page begins: the middle of the box, over the first coordinate and time, or the first two. */
  function start(page) {
    const names = [...slots(page).values()].filter(isCoordinate).map(({ name }) => name);
    return {
      view: names.length > 1 ? "field" : "curve",
      across: names[0],
      up: names.includes("t") ? "t" : names[1] ?? names[0],
      along: names[0],
      mu: page.tuned_at ?? page.parameters.map((parameter) => parameter.start),
      time: page.slices.time ? page.slices.time.start : null,
      point: {},
    };
  }

  /* The coordinates of the plane that a curve does not run along: they stay where `point` says, else at the centre. */
  function still(page, state) {
    const names = slots(page), plane = [state.across, state.up].filter((name) => names.get(name).kind === "x");
    const along = names.get(state.along);
    const kept = along.kind === "x" ? plane.filter((name) => name !== along.name).slice(0, 1) : plane;
    return [...new Set(kept)].map((name) => names.get(name));
  }

  const base = (page, slot) => page.slices.coordinates[slot.index].base;

  const number = (value) => Number(value.toPrecision(10)).toString();

  function address(page, state) {
    const parts = new URLSearchParams({ view: state.view });
    if (state.view === "field") {
      parts.set("across", state.across);
      parts.set("up", state.up);
    } else {
      parts.set("along", state.along);
      for (const slot of still(page, state)) if (slot.name in state.point) parts.set(slot.name, number(state.point[slot.name]));
    }
    page.parameters.forEach(({ name }, p) => parts.set(`mu.${name}`, number(state.mu[p])));
    if (state.time !== null) parts.set("time", number(state.time));
    return `#${parts}`;
  }

  /* The state that an address tells; what it does not tell, or tells wrongly, is as at the start. */
  function told(page, hash) {
    const parts = new URLSearchParams(hash.slice(1)), state = start(page), names = slots(page);
    const finite = (text, low, high) => {
      const value = text === null || text.trim() === "" ? NaN : Number(text);
      return Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : null;
    };
    const coordinates = [...names.values()].filter(isCoordinate);
    if (["field", "curve"].includes(parts.get("view")) && coordinates.length > 1) state.view = parts.get("view");
    const [across, up] = [parts.get("across"), parts.get("up")];
    const spans = (name) => names.has(name) && isCoordinate(names.get(name));
    if (spans(across) && spans(up) && across !== up) [state.across, state.up] = [across, up];
    if (names.has(parts.get("along"))) state.along = parts.get("along");
    for (const { name, kind, low, high } of coordinates) {
      const value = kind === "x" ? finite(parts.get(name), low, high) : null;
      if (value !== null) state.point[name] = value;
    }
    state.mu = page.parameters.map((p, i) => (page.tuned_at ? state.mu[i] : finite(parts.get(`mu.${p.name}`), p.from, p.to) ?? state.mu[i]));
    if (state.time !== null) state.time = finite(parts.get("time"), page.slices.time.low, page.slices.time.high) ?? state.time;
    return state;
  }

  /* The question for so many values of each axis. */
  function question(page, state, counts, part = null) {
    const varied = axes(page, state).map((slot, number) => {
      const count = counts[number], scale = scaleOf(page, slot);
      const [low, high] = [scale.to(slot.low), scale.to(slot.high)];
      return { ...slot, values: Array.from({ length: count }, (_, i) => scale.from(low + ((high - low) * i) / (count - 1))) };
    });
    if (part) varied[0] = { ...varied[0], values: varied[0].values.slice(part[0], part[1]) };
    const kept = state.view === "curve" ? still(page, state).filter(({ name }) => name in state.point) : [];
    const space = Object.fromEntries(kept.map(({ name, index }) => [index, state.point[name]]));
    return { space, time: state.time ?? undefined, mu: state.mu, axes: varied };
  }

  /* The same state over other coordinates, this one chosen; what is no longer offered is chosen anew. */
  function withCoordinate(page, state, name) {
    const offered = [...slots(page).values()].filter(isCoordinate).map((slot) => slot.name), names = slots(page);
    const other = [state.up, state.across, ...offered].find((one) => offered.includes(one) && one !== name) ?? name;
    const kept = Object.fromEntries(Object.entries(state.point).filter(([one]) => offered.includes(one)));
    const curve = state.view === "curve" || offered.length < 2;
    const along = curve ? name : names.has(state.along) ? state.along : name;
    return { ...state, view: curve ? "curve" : "field", across: name, up: other, along, point: kept };
  }

  /* The axes of the view. */
  function axes(page, state) {
    const names = slots(page);
    return (state.view === "field" ? [state.across, state.up] : [state.along]).map((name) => names.get(name));
  }

  /* The question for one point of the view. */
  function at(page, state, cursor) {
    const found = { ...question(page, state, [2, 2]), axes: [] };
    axes(page, state).forEach(({ kind, index }, i) => {
      if (kind === "x") found.space[index] = cursor[i];
      if (kind === "t") found.time = cursor[i];
      if (kind === "mu") found.mu = found.mu.map((value, p) => (p === index ? cursor[i] : value));
    });
    return found;
  }

  const timeIsAxis = ({ view, across, up, along }) => (view === "field" ? [across, up] : [along]).includes("t");
  const inWords = (page, { mu }) => page.parameters.map(({ name }, p) => `${name} = ${drawing.shown(mu[p], 4)}`).join(", ");

  return { slots, isCoordinate, scaleOf, withCoordinate, still, base, start, address, told, question, axes, at, timeIsAxis, inWords };
})();
