/* Tables of functions that only JAX can run: products of matrices, each a Chebyshev series in one variable, as
   chebyshev.py makes them. */
const tables = (() => {
  /* A table of a function at every point of a question; null where it has no plane of these coordinates. `averaged`
     takes its mean over the trained box in place of its value at μ. */
  function value(page, table, question, averaged = false) {
    const moved = new Set(Object.keys(question.space).map(Number));
    question.axes.forEach((axis) => axis.kind === "x" && moved.add(axis.index));
    const number = table.planes.findIndex((plane) => [...moved].every((k) => plane.includes(k)));
    if (number < 0) return null;
    const axisOf = (kind, index) => question.axes.findIndex((axis) => axis.kind === kind && axis.index === index);
    const along = (axis, fixed) => (axis < 0 ? [fixed] : question.axes[axis].values);
    const variables = [{ axis: -1, values: [number] }];
    for (const k of table.planes[number]) {
      const axis = axisOf("x", k), { low, high, base } = page.slices.coordinates[k];
      const standard = (x) => (2 * x - low - high) / (high - low);
      variables.push({ axis, values: Array.from(along(axis, question.space[k] ?? base), standard) });
    }
    if (page.slices.time) variables.push({ axis: axisOf("t", 0), values: along(axisOf("t", 0), question.time) });
    page.parameters.forEach((_, p) => {
      const axis = averaged ? -1 : axisOf("mu", p), mean = averaged ? [page.network.low[p], page.network.high[p]] : null;
      variables.push({ axis, mean, values: Array.from(along(axis, question.mu[p]), (mu) => network.uniform(page, mu)) });
    });
    return evaluated(joined(matricesOf(table, variables)), [0, 1].map((axis) => question.axes[axis]?.values.length ?? 1));
  }

  /* A function of μ alone. */
  function overParameters(page, table, mu) {
    const variables = mu.map((value) => ({ axis: -1, values: [network.uniform(page, value)] }));
    return evaluated(joined(matricesOf(table, variables)), [1, 1])[0];
  }

  /* T_0 ... T_{count−1} on an interval, NaN beyond it; of a variable that counts, which of its values y is. */
  function series(y, interval, count) {
    if (interval === null) return Float64Array.from({ length: count }, (_, k) => Number(k === y));
    const x = standard(y, interval);
    return Math.abs(x) > 1 + 1e-6 ? new Float64Array(count).fill(NaN) : chebyshev(x, count);
  }

  const standard = (y, [low, high]) => (2 * y - low - high) / (high - low);

  function chebyshev(x, count) {
    const found = new Float64Array(count).fill(1);
    if (count > 1) found[1] = x;
    for (let k = 2; k < count; k++) found[k] = 2 * x * found[k - 1] - found[k - 2];
    return found;
  }

  /* The means of T_k between two values: ∫T_0 = T_1, ∫T_1 = T_2/4, 2∫T_k = T_{k+1}/(k+1) − T_{k−1}/(k−1). */
  function means([from, to], interval, count) {
    const ends = [standard(from, interval), standard(to, interval)];
    const [low, high] = ends.map((x) => {
      const T = chebyshev(x, count + 2);
      return Float64Array.from({ length: count }, (_, k) => {
        if (k < 2) return k === 0 ? T[1] : T[2] / 4;
        return (T[k + 1] / (k + 1) - T[k - 1] / (k - 1)) / 2;
      });
    });
    return high.map((value, k) => (value - low[k]) / (ends[1] - ends[0]));
  }

  /* Of every variable its matrices, one for each of its values. */
  function matricesOf(table, variables) {
    return table.cores.map(({ shape: [left, terms, right], values: core }, v) => {
      const { axis, mean, values } = variables[v], interval = table.intervals[v];
      const matrices = Array.from(values, (y) => {
        const weights = mean ? means(mean, interval, terms) : series(y, interval, terms);
        const matrix = new Float64Array(left * right);
        for (let l = 0; l < left; l++)
          for (let k = 0; k < terms; k++) {
            const start = (l * terms + k) * right;
            for (let r = 0; r < right; r++) matrix[l * right + r] += weights[k] * core[start + r];
          }
        return matrix;
      });
      return { axis, left, right, matrices };
    });
  }

  /* Neighbours become one where that does not multiply their number: at a value that is fixed, or on one axis. */
  function joined(links) {
    return links.reduceRight((done, link) => {
      const next = done[0], joins = next && (link.axis < 0 || next.axis < 0 || link.axis === next.axis);
      return joins ? [times(link, next), ...done.slice(1)] : [link, ...done];
    }, []);
  }

  function times(a, b) {
    const count = Math.max(a.matrices.length, b.matrices.length);
    const matrices = Array.from({ length: count }, (_, i) => {
      const first = a.matrices[a.axis < 0 ? 0 : i], second = b.matrices[b.axis < 0 ? 0 : i];
      return matrixProduct(first, second, a.left, a.right, b.right);
    });
    return { axis: Math.max(a.axis, b.axis), left: a.left, right: b.right, matrices };
  }

  function matrixProduct(first, second, rows, inner, columns) {
    const found = new Float64Array(rows * columns);
    for (let l = 0; l < rows; l++)
      for (let m = 0; m < inner; m++)
        for (let r = 0; r < columns; r++) found[l * columns + r] += first[l * inner + m] * second[m * columns + r];
    return found;
  }

  /* The product of all matrices at every point of a grid. */
  function evaluated(links, sizes) {
    return Float64Array.from({ length: sizes[0] * sizes[1] }, (_, p) => {
      const place = [Math.floor(p / sizes[1]), p % sizes[1]];
      const chosen = links.map(({ axis, matrices }) => matrices[axis < 0 ? 0 : place[axis]]);
      return chosen.reduce((row, matrix, n) => matrixProduct(row, matrix, 1, links[n].left, links[n].right), [1])[0];
    });
  }

  return { value, overParameters };
})();
