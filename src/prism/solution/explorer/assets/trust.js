/* What is known of the solution at μ, as `prism trust` tells it: the residual interpolated on a grid, the calibration
   as it is. */
const trust = (() => {
  /* How far μ lies below each lower end of the trained box, then above each upper end, in its widths. */
  function sides(page, mu) {
    const fractions = mu.map((value, p) => network.boxFraction(page, value, p));
    const positive = (value) => (value > 1e-6 ? value : 0);
    return [...fractions.map((part) => positive(-part)), ...fractions.map((part) => positive(part - 1))];
  }

  /* ρ(μ), its logarithm linear between the nodes of a grid. */
  function residual(page, mu) {
    const { nodes, logarithms } = page.trust.residual, count = nodes.length;
    let corners = [[0, 1]];
    mu.forEach((value, p) => {
      const place = (network.boxFraction(page, value, p) - nodes[0]) / (nodes[1] - nodes[0]);
      const inside = Math.min(Math.max(place, 0), count - 1), first = Math.min(Math.floor(inside), count - 2);
      const moved = (n, weight) => corners.map(([index, w]) => [index * count + n, w * weight]);
      corners = [...moved(first, 1 - inside + first), ...moved(first + 1, inside - first)];
    });
    const some = corners.filter(([, weight]) => weight > 0);
    return Math.exp(some.reduce((sum, [index, weight]) => sum + weight * logarithms.values[index], 0));
  }

  function at(page, mu) {
    const beyond = sides(page, mu), found = {
      inside: page.tuned_at ? mu.every((value, p) => isTuned(page, value, p)) : Math.max(...beyond) === 0,
      beyond: mu.map((_, p) => beyond[p] + beyond[p + mu.length]),
      tuned: page.tuned_at !== null,
    };
    if (page.trust.tuned) return { ...found, ...page.trust.tuned };
    if (!page.trust.residual) return { ...found, reason: page.trust.reason };
    found.residual = residual(page, mu);
    found.quantile = page.trust.residuals.filter((other) => other < found.residual).length / page.trust.residuals.length;
    return { ...found, ...estimated(page, beyond, found.residual) };
  }

  /* The relative error that a residual means at a μ beyond the sides of the box by so much, or why none is claimed. */
  function estimated(page, beyond, residual) {
    const { rings } = page.trust, far = Math.max(...beyond);
    if (!Number.isFinite(residual)) return { reason: "the residual is not finite" };
    if (!rings.length) return { reason: "the family has no exact solution to calibrate with" };
    const ring = rings.find(({ outer }) => far <= outer + (outer ? 1e-5 : 0));
    if (!ring || !ring.fit) return { reason: "too few parameters to calibrate with there" };
    const slopes = beyond.map((value, s) => (value > 0 ? (ring.fit.slopes[s] ?? NaN) * value : 0));
    const logarithm = ring.fit.centre + slopes.reduce((sum, value) => sum + value, 0);
    if (!Number.isFinite(logarithm)) return { reason: "too few parameters beyond this side to calibrate with" };
    const error = (off) => residual * Math.exp(logarithm + off);
    return { error: error(0), low: error(ring.fit.low), high: error(ring.fit.high) };
  }

  function isTuned(page, value, p) {
    const width = page.parameters[p].high - page.parameters[p].low;
    return Math.abs(value - page.tuned_at[p]) <= 1e-6 * Math.max(width, Math.abs(value));
  }

  return { at };
})();
