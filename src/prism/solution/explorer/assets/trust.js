/* What is known of the solution at μ, as `prism trust` tells it: the residual interpolated on a grid, the calibration
   as it is. */
const trust = (() => {
  /* How far μ lies below each lower end of the trained box, then above each upper end, in its widths. */
  function sides(page, mu) {
    const { low, high, logarithmic } = page.network;
    const far = mu.map((value, p) => ((logarithmic ? Math.log(value) : value) - low[p]) / (high[p] - low[p]));
    const positive = (value) => (value > 1e-9 ? value : 0);
    return [...far.map((part) => positive(-part)), ...far.map((part) => positive(part - 1))];
  }

  /* log ρ(μ), linear between the nodes of a grid. */
  function residual(page, mu) {
    const { nodes, logarithms } = page.trust.residual, { low, high, logarithmic } = page.network;
    let corners = [[0, 1]];
    mu.forEach((value, p) => {
      const t = ((logarithmic ? Math.log(value) : value) - low[p]) / (high[p] - low[p]), count = nodes.length;
      const place = Math.min(Math.max((t - nodes[0]) / (nodes[1] - nodes[0]), 0), count - 1);
      const first = Math.min(Math.floor(place), count - 2), part = place - first;
      const shifted = (n, weight) => corners.map(([index, w]) => [index * count + n, w * weight]);
      corners = [...shifted(first, 1 - part), ...(part > 0 ? shifted(first + 1, part) : [])];
    });
    return Math.exp(corners.reduce((sum, [index, weight]) => sum + (weight ? weight * logarithms.values[index] : 0), 0));
  }

  /* What is known of the solution at μ, as `prism trust` tells it. */
  function at(page, mu) {
    const beyond = sides(page, mu), far = Math.max(...beyond), known = page.trust;
    const tuned = page.tuned_at !== null;
    const found = {
      inside: tuned ? mu.every((value, p) => isTuned(page, value, p)) : far === 0,
      beyond: mu.map((_, p) => beyond[p] + beyond[p + mu.length]),
      tuned,
    };
    if (!known.residual) return { ...found, reason: known.reason };
    found.residual = residual(page, mu);
    found.quantile = known.residuals.filter((other) => other < found.residual).length / known.residuals.length;
    const ring = known.rings.find(({ outer }) => far <= outer + (outer ? 1e-5 : 0));
    if (!Number.isFinite(found.residual)) return { ...found, reason: "the residual is not finite" };
    if (!known.rings.length) return { ...found, reason: "the family has no exact solution to calibrate with" };
    if (!ring || !ring.fit) return { ...found, reason: "too few parameters to calibrate with there" };
    const slopes = beyond.map((value, s) => (value > 0 ? (ring.fit.slopes[s] ?? NaN) * value : 0));
    const centre = ring.fit.centre + slopes.reduce((sum, value) => sum + value, 0);
    if (!Number.isFinite(centre)) return { ...found, reason: "too few parameters beyond this side to calibrate with" };
    const error = (off) => found.residual * Math.exp(centre + off);
    return { ...found, error: error(0), low: error(ring.fit.low), high: error(ring.fit.high) };
  }

  function isTuned(page, value, p) {
    const width = page.parameters[p].high - page.parameters[p].low;
    return Math.abs(value - page.tuned_at[p]) <= 1e-6 * Math.max(width, Math.abs(value));
  }

  return { at };
})();
