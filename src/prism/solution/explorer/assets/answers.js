/* What can be asked of a page: u, the exact solution, the answer that ignores μ, and whether all of it is computed
   here as PRISM computes it. */
const answers = (() => {
  function unpacked(packed) {
    const bytes = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0));
    const values = packed.type === "f8" ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer);
    return { shape: packed.shape, values: Float64Array.from(values) };
  }

  /* The same content with every packed array as {shape, values}. */
  function unpackedAll(content) {
    if (Array.isArray(content)) return content.map(unpackedAll);
    if (content === null || typeof content !== "object") return content;
    if ("data" in content && "shape" in content) return unpacked(content);
    return Object.fromEntries(Object.entries(content).map(([name, value]) => [name, unpackedAll(value)]));
  }

  /* Content as it was written, ready for questions. */
  function opened(content) {
    const net = unpackedAll(content.network), matrices = Object.entries(net.arrays).filter(([, array]) => array.shape.length === 2);
    net.transposed = Object.fromEntries(matrices.map(([name, array]) => [name, network.transposed(array)]));
    return withSlices({ ...content, network: net, trust: unpackedAll(content.trust) }, content.slices);
  }

  /* The same page with slices as they were written. */
  function withSlices(page, slices) {
    const ready = unpackedAll(slices);
    ready.lift.forEach((group) => {
      if (group.kind !== "sites") return;
      group.firstT = network.transposed(group.first);
      group.secondT = network.transposed(group.second);
    });
    return { ...page, slices: ready };
  }

  /* u of the trained network. */
  function predicted(page, question) {
    const free = question.axes.findIndex(({ kind }) => kind === "mu");
    if (free >= 0) return overParameter(page, question, question.axes[free]);
    const u = network.value(page, question), { constraint } = page.slices;
    if (constraint.radius !== null) {
      const s = network.squaredNorms(page, question);
      for (let p = 0; p < u.length; p++) u[p] *= (1 - s[p] / constraint.radius ** 2) ** constraint.power;
    }
    if (constraint.factor) tables.value(page, constraint.factor, question).forEach((value, p) => (u[p] *= value));
    if (constraint.offset) tables.value(page, constraint.offset, question).forEach((value, p) => (u[p] += value));
    return u;
  }

  /* The same along a parameter, one value of it after the other. */
  function overParameter(page, question, axis) {
    return Float64Array.from(axis.values, (value) => {
      const mu = question.mu.map((own, p) => (p === axis.index ? value : own));
      return predicted(page, { ...question, mu, axes: [] })[0];
    });
  }

  const exact = (page, question) => page.slices.exact && tables.value(page, page.slices.exact, question);

  /* Where the family knows u at one point alone: that value, ours there, and how far the first may be off. */
  function reference(page, mu) {
    const { reference: table } = page.slices;
    if (!table) return null;
    const question = { space: table.space, time: table.time ?? undefined, mu, axes: [] };
    return { ...table, value: tables.overParameters(page, table, mu), u: predicted(page, question)[0] };
  }

  /* The best answer that ignores μ: the mean over the trained box of the exact solution, else of the network; null for
     a tuned solution, which is of one μ. */
  function blind(page, question) {
    if (page.tuned_at) return null;
    const axes = question.axes.filter(({ kind }) => kind !== "mu"), still = { ...question, axes };
    let mean = page.slices.exact ? tables.value(page, page.slices.exact, still, true) : null;
    if (mean === null) {
      const parts = page.quadrature.nodes.map((mu) => predicted(page, { ...still, mu }));
      mean = parts[0].map((_, p) => parts.reduce((sum, part, n) => sum + page.quadrature.weights[n] * part[p], 0));
    }
    const wide = question.axes.find(({ kind }) => kind === "mu");
    return wide ? new Float64Array(wide.values.length).fill(mean[0]) : mean;
  }

  /* Whether points of a question lie beyond where the solution was trained. */
  function outside(page, question) {
    const { norm, horizon } = page.region, norms = network.squaredNorms(page, question).map(Math.sqrt);
    const slack = (bound) => 1e-5 * Math.abs(bound);
    return Array.from(norms, (size) => {
      if (norm && (size < norm[0] - slack(norm[0]) || size > norm[1] + slack(norm[1]))) return true;
      return horizon !== null && question.time !== undefined && (question.time < 0 || question.time > horizon);
    });
  }

  /* The largest difference from values that PRISM computed, over the root mean square of u. */
  function selfCheck(page) {
    const { probes, size } = page.slices;
    const worst = (name, at) => {
      const differences = probes.map((probe) => {
        const found = at(page, { ...probe, axes: [] });
        return found === null || probe[name] === null ? 0 : Math.abs(found[0] - probe[name]) / size;
      });
      return differences.every(Number.isFinite) ? Math.max(...differences) : Infinity;
    };
    return { count: probes.length, predicted: worst("u", predicted), exact: page.slices.exact ? worst("exact", exact) : null };
  }

  return { opened, withSlices, predicted, exact, reference, blind, outside, selfCheck };
})();
