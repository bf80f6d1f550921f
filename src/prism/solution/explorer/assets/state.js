/* What is looked at: μ, time, the view and its axes; kept in the address, so that a link shows the same. */
const looking = (() => {
  /* Every axis that can be chosen, by name. */
  function slots(page) {
    const found = new Map();
    page.slices.coordinates.forEach(({ name, low, high }, index) => found.set(name, { kind: "x", index, name, low, high }));
    const { time } = page.slices;
    if (time) found.set("t", { kind: "t", index: 0, name: "t", low: time.low, high: time.high });
    page.parameters.forEach((parameter, index) =>
      found.set(parameter.name, { kind: "mu", index, name: parameter.name, low: parameter.from, high: parameter.to }),
    );
    return found;
  }

  const isPlace = ({ kind }) => kind !== "mu";

  /* Where a page begins: the middle of the box, the first two places. */
  function start(page) {
    const places = [...slots(page).values()].filter(isPlace).map(({ name }) => name);
    const timed = places.includes("t") && places.length > 1;
    return {
      view: places.length > 1 ? "field" : "curve",
      across: places[0],
      up: timed ? "t" : places[1] ?? places[0],
      along: places[0],
      mu: page.tuned_at ?? page.parameters.map((parameter) => parameter.start),
      time: page.slices.time ? page.slices.time.start : null,
      point: {},
    };
  }

  /* The coordinates of the plane that a curve does not run along: they stay where `point` says, else at the centre. */
  function still(page, state) {
    const names = slots(page), places = [state.across, state.up].filter((name) => names.get(name).kind === "x");
    const along = names.get(state.along);
    const kept = along.kind === "x" ? places.filter((name) => name !== along.name).slice(0, 1) : places;
    return [...new Set(kept)].map((name) => names.get(name));
  }

  const base = (page, slot) => page.slices.coordinates[slot.index].base;

  const number = (value) => Number(value.toPrecision(6)).toString();

  function address(page, state) {
    const parts = new URLSearchParams({ view: state.view });
    if (state.view === "field") {
      parts.set("across", state.across);
      parts.set("up", state.up);
    } else {
      parts.set("along", state.along);
      for (const slot of still(page, state)) if (slot.name in state.point) parts.set(slot.name, number(state.point[slot.name]));
    }
    page.parameters.forEach(({ name }, p) => parts.set(name, number(state.mu[p])));
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
    const places = [...names.values()].filter(isPlace);
    if (["field", "curve"].includes(parts.get("view")) && places.length > 1) state.view = parts.get("view");
    const [across, up] = [parts.get("across"), parts.get("up")];
    const known = (name) => names.has(name) && isPlace(names.get(name));
    if (known(across) && known(up) && across !== up) [state.across, state.up] = [across, up];
    if (names.has(parts.get("along"))) state.along = parts.get("along");
    for (const { name, kind, low, high } of places) {
      const value = kind === "x" ? finite(parts.get(name), low, high) : null;
      if (value !== null) state.point[name] = value;
    }
    state.mu = page.parameters.map((p, i) => (page.tuned_at ? state.mu[i] : finite(parts.get(p.name), p.from, p.to) ?? state.mu[i]));
    if (state.time !== null) state.time = finite(parts.get("time"), page.slices.time.low, page.slices.time.high) ?? state.time;
    return state;
  }

  /* The question for so many values of each axis. */
  function question(page, state, counts, part = null) {
    const names = slots(page);
    const chosen = state.view === "field" ? [state.across, state.up] : [state.along];
    const axes = chosen.map((name, number) => {
      const slot = names.get(name), count = counts[number];
      const logarithmic = slot.kind === "mu" && page.network.logarithmic;
      const [low, high] = logarithmic ? [Math.log(slot.low), Math.log(slot.high)] : [slot.low, slot.high];
      const values = Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1));
      return { ...slot, values: logarithmic ? values.map(Math.exp) : values };
    });
    if (part) axes[0] = { ...axes[0], values: axes[0].values.slice(part[0], part[1]) };
    const kept = state.view === "curve" ? still(page, state).filter(({ name }) => name in state.point) : [];
    const space = Object.fromEntries(kept.map(({ name, index }) => [index, state.point[name]]));
    return { space, time: state.time ?? undefined, mu: state.mu, axes };
  }

  return { slots, isPlace, still, base, start, address, told, question };
})();
