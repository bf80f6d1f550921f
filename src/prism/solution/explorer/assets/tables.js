/* Tables of functions that only JAX can compute: products of matrices, each a Chebyshev series in one variable, as
   chebyshev.py makes them. */
const tables = (() => {
  /* A table of a function at every point of a question; null where the page has none for these coordinates. `averaged`
     takes its mean over the trained box in place of its value at μ. */
  function value(page, table, question, averaged = false) {
    const displaced = new Set(Object.keys(question.space).map(Number));
    question.axes.forEach((axis) => axis.kind === "x" && displaced.add(axis.index));
    const number = table.planes.findIndex((plane) => [...displaced].every((k) => plane.includes(k)));
    if (number < 0) return null;
    const timed = page.slices.time !== null;
    const axisOf = (kind, index) => question.axes.findIndex((axis) => axis.kind === kind && axis.index === index);
    const variables = table.planes[number].map((k) => {
      const axis = axisOf("x", k), { low, high, base } = page.slices.coordinates[k];
      const values = axis < 0 ? [question.space[k] ?? base] : question.axes[axis].values;
      return { axis, values: Array.from(values, (value) => (2 * value - low - high) / (high - low)) };
    });
    variables.unshift({ axis: -1, values: [number] });
    if (timed) {
      const axis = question.axes.findIndex(({ kind }) => kind === "t");
      variables.push({ axis, values: axis < 0 ? [question.time] : question.axes[axis].values });
    }
    page.parameters.forEach((parameter, p) => {
      const axis = averaged ? -1 : axisOf("mu", p), uniform = page.network.logarithmic ? Math.log : (value) => value;
      variables.push({
        axis,
        mean: averaged ? [page.network.low[p], page.network.high[p]] : null,
        values: Array.from(axis < 0 ? [question.mu[p]] : question.axes[axis].values, uniform),
      });
    });
    return chained(table, variables, [0, 1].map((axis) => question.axes[axis]?.values.length ?? 1));
  }

  /* A function of μ alone. */
  function overParameters(page, table, mu) {
    const uniform = page.network.logarithmic ? Math.log : (value) => value;
    return chained(table, mu.map((value) => ({ axis: -1, mean: null, values: [uniform(value)] })), [1, 1])[0];
  }

  /* T_k(y) on an interval, NaN beyond it; of a variable that counts, whether y is k. */
  function chebyshev(y, interval, count) {
    if (interval === null) return Float64Array.from({ length: count }, (_, k) => Number(k === y));
    const [low, high] = interval, x = (2 * y - low - high) / (high - low);
    if (Math.abs(x) > 1 + 1e-6) return new Float64Array(count).fill(NaN);
    const found = new Float64Array(count).fill(1);
    if (count > 1) found[1] = x;
    for (let k = 2; k < count; k++) found[k] = 2 * x * found[k - 1] - found[k - 2];
    return found;
  }

  /* The means of T_k between two values, by Gauss's rule in as many pieces as the degree needs. */
  function chebyshevMean([from, to], interval, count) {
    const nodes = [-Math.sqrt(0.6), 0, Math.sqrt(0.6)], weights = [5 / 18, 4 / 9, 5 / 18];
    const found = new Float64Array(count), pieces = 16 * count;
    for (let piece = 0; piece < pieces; piece++)
      nodes.forEach((node, n) => {
        const y = from + ((to - from) * (piece + (node + 1) / 2)) / pieces;
        chebyshev(y, interval, count).forEach((value, k) => (found[k] += (weights[n] / pieces) * value));
      });
    return found;
  }

  /* The product of the matrices of all variables: those that do not move are multiplied once. */
  function chained(table, variables, sizes) {
    const links = table.cores.map(({ shape: [left, degrees, right], values }, v) => {
      const { axis, mean, values: at } = variables[v], interval = table.intervals[v];
      const matrices = Array.from(at, (y) => {
        const series = mean ? chebyshevMean(mean, interval, degrees) : chebyshev(y, interval, degrees);
        const matrix = new Float64Array(left * right);
        for (let l = 0; l < left; l++)
          for (let k = 0; k < degrees; k++) {
            const start = (l * degrees + k) * right;
            for (let r = 0; r < right; r++) matrix[l * right + r] += series[k] * values[start + r];
          }
        return matrix;
      });
      return { axis, left, right, matrices };
    });
    const times = (a, b) => ({
      axis: Math.max(a.axis, b.axis),
      left: a.left,
      right: b.right,
      matrices: Array.from({ length: Math.max(a.matrices.length, b.matrices.length) }, (_, i) => {
        const first = a.matrices[a.axis < 0 ? 0 : i], second = b.matrices[b.axis < 0 ? 0 : i];
        const found = new Float64Array(a.left * b.right);
        for (let l = 0; l < a.left; l++)
          for (let m = 0; m < a.right; m++)
            for (let r = 0; r < b.right; r++) found[l * b.right + r] += first[l * a.right + m] * second[m * b.right + r];
        return found;
      }),
    });
    const merged = links.reduceRight((done, link) => {
      const next = done[0];
      const joins = next && (link.axis < 0 || next.axis < 0 || link.axis === next.axis);
      return joins ? [times(link, next), ...done.slice(1)] : [link, ...done];
    }, []);
    const out = new Float64Array(sizes[0] * sizes[1]);
    for (let p = 0; p < out.length; p++) {
      const place = [Math.floor(p / sizes[1]), p % sizes[1]];
      let row = null;
      for (const { axis, left, right, matrices } of merged) {
        const matrix = matrices[axis < 0 ? 0 : place[axis]];
        if (row === null) {
          row = matrix;
          continue;
        }
        const next = new Float64Array(right);
        for (let l = 0; l < left; l++) for (let r = 0; r < right; r++) next[r] += row[l] * matrix[l * right + r];
        row = next;
      }
      out[p] = row[0];
    }
    return out;
  }

  return { value, overParameters };
})();
