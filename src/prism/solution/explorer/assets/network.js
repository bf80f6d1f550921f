"use strict";
/* N(x; μ) on the subspace of the offered coordinates: what export_numpy.py computes, with the lift cut down to it.

     h = σ(γ(μ) ⊙ z + β(μ)),   z' = h W + b,   N = level + amplitude · (z' + q(μ)·z_rest)

   A question is {space: {k: value}, time, mu, axes}: values of the coordinates of the slice (k counts them as
   `slices.coordinates` does; those left out are at the base), the time, μ, and up to two axes {kind, index, values} that
   are varied beside them: kind "x" for a coordinate, "t" for time, "mu" for a parameter. Answers run slowly over the
   first axis and fast over the second. */
const network = (() => {
  const sigmoid = (z) => (z < 0 ? Math.exp(z) / (1 + Math.exp(z)) : 1 / (1 + Math.exp(-z)));
  const ACTIVATIONS = {
    Tanh: (z) => 1 - 2 / (Math.exp(2 * z) + 1),
    Sin: Math.sin,
    Sigmoid: sigmoid,
    Softplus: (z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z))),
    Swish: (z) => z * sigmoid(z),
    Bump: (z) => Math.exp((-z * z) / 2),
  };

  function transposed({ shape: [rows, columns], values }) {
    const found = new Float64Array(values.length);
    for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) found[j * rows + i] = values[i * columns + j];
    return found;
  }

  /* H Mᵀ for the rows of H, in tiles of 4 rows and 2 columns that stay in registers. */
  function product(h, m, rows, inner, outer) {
    const out = new Float64Array(rows * outer);
    let i = 0;
    for (; i + 4 <= rows; i += 4) {
      const a = i * inner, b = a + inner, c = b + inner, d = c + inner;
      let j = 0;
      for (; j + 2 <= outer; j += 2) {
        const p = j * inner, q = p + inner, o = i * outer + j;
        let a0 = 0, a1 = 0, b0 = 0, b1 = 0, c0 = 0, c1 = 0, d0 = 0, d1 = 0;
        for (let k = 0; k < inner; k++) {
          const u = m[p + k], v = m[q + k];
          a0 += h[a + k] * u; a1 += h[a + k] * v;
          b0 += h[b + k] * u; b1 += h[b + k] * v;
          c0 += h[c + k] * u; c1 += h[c + k] * v;
          d0 += h[d + k] * u; d1 += h[d + k] * v;
        }
        out[o] = a0; out[o + 1] = a1;
        out[o + outer] = b0; out[o + outer + 1] = b1;
        out[o + 2 * outer] = c0; out[o + 2 * outer + 1] = c1;
        out[o + 3 * outer] = d0; out[o + 3 * outer + 1] = d1;
      }
      if (j < outer) for (let r = i; r < i + 4; r++) out[r * outer + j] = dot(h, r * inner, m, j * inner, inner);
    }
    for (; i < rows; i++) for (let j = 0; j < outer; j++) out[i * outer + j] = dot(h, i * inner, m, j * inner, inner);
    return out;
  }

  function dot(a, startA, b, startB, count) {
    let sum = 0;
    for (let k = 0; k < count; k++) sum += a[startA + k] * b[startB + k];
    return sum;
  }

  /* What a question asks of each point: displacements from the base by coordinate, and time behind them. */
  function columnsOf(question, slices) {
    const sizes = [0, 1].map((axis) => question.axes[axis]?.values.length ?? 1);
    const count = sizes[0] * sizes[1];
    const columns = new Map();
    const along = (axis) => {
      const values = question.axes[axis].values, column = new Float64Array(count);
      for (let p = 0; p < count; p++) column[p] = values[axis === 0 ? Math.floor(p / sizes[1]) : p % sizes[1]];
      return column;
    };
    const shifted = (column, base) => column.map((value) => value - base);
    const last = slices.coordinates.length;
    for (const [k, value] of Object.entries(question.space))
      columns.set(Number(k), new Float64Array(count).fill(value - slices.coordinates[k].base));
    if (slices.time) columns.set(last, new Float64Array(count).fill(question.time - slices.time.base));
    question.axes.forEach((axis, number) => {
      if (axis.kind === "x") columns.set(axis.index, shifted(along(number), slices.coordinates[axis.index].base));
      if (axis.kind === "t") columns.set(last, shifted(along(number), slices.time.base));
    });
    return { count, columns };
  }

  /* base + Σ s_k first_k + ½ Σ s_k s_l second_kl, one row of channels for each point. */
  function polynomial(group, { count, columns }) {
    const channels = group.base.values.length, z = new Float64Array(count * channels);
    for (let p = 0; p < count; p++) z.set(group.base.values, p * channels);
    const add = (weights, start, factor) => {
      for (let p = 0; p < count; p++) {
        const f = factor(p);
        if (f !== 0) for (let c = 0; c < channels; c++) z[p * channels + c] += f * weights[start + c];
      }
    };
    const moving = group.first.shape[0];
    for (const [k, s] of columns) {
      add(group.first.values, k * channels, (p) => s[p]);
      if (!group.second) continue;
      for (const [l, r] of columns) add(group.second.values, (k * moving + l) * channels, (p) => (s[p] * r[p]) / 2);
    }
    return z;
  }

  function logarithm(group, asked) {
    return polynomial(group, asked).map((s) => (Math.log(group.epsilon + s) - group.mean) / group.spread);
  }

  /* φ(y; μ) of many places at once, without its value at the origin. */
  function features(group, y, count, modulations) {
    const [inputs, hidden] = group.first.shape, width = group.second.shape[1];
    const [one, two] = modulations;
    const at = (rows, number) => {
      const h = modulated(product(rows, group.firstT, number, inputs, hidden), group.first_bias.values, one);
      for (let i = 0; i < h.length; i++) h[i] = ACTIVATIONS.Tanh(h[i]);
      return modulated(product(h, group.secondT, number, hidden, width), group.second_bias.values, two).map(Math.sin);
    };
    const found = at(y, count), origin = at(new Float64Array(inputs), 1);
    return found.map((value, i) => value - origin[i % width]);
  }

  /* Σ_i A_i · φ_i, places that see the same taken together. */
  function sites(group, { count, columns }, modulations, space) {
    const inputs = group.first.shape[0], [, width, channels] = group.coefficients.shape;
    const z = new Float64Array(count * channels);
    const add = (place, origin, start) => {
      const y = new Float64Array(count * inputs);
      origin.forEach((own, w) => {
        const column = columns.get(place[w]);
        for (let p = 0; p < count; p++) y[p * inputs + w] = own + (column ? column[p] / group.unit : 0);
      });
      if (group.horizon !== null) {
        const time = columns.get(space);
        for (let p = 0; p < count; p++) y[p * inputs + inputs - 1] = group.base_time + (2 * time[p]) / group.horizon;
      }
      const found = features(group, y, count, modulations);
      for (let p = 0; p < count; p++)
        for (let f = 0; f < width; f++) {
          const value = found[p * width + f];
          for (let c = 0; c < channels; c++) z[p * channels + c] += value * group.coefficients.values[start + f * channels + c];
        }
    };
    group.windows.forEach((place, number) => add(place, group.origins[number], number * width * channels));
    return z;
  }

  /* (W h + b) once it is scaled and shifted by μ, in place. */
  function modulated(z, bias, { gamma, beta }) {
    const width = bias.length;
    for (let i = 0; i < z.length; i++) {
      const c = i % width;
      z[i] = (z[i] + bias[c]) * (gamma ? gamma[c] : 1) + (beta ? beta[c] : 0);
    }
    return z;
  }

  /* A parameter in the coordinate in which its law is uniform, and back. */
  const uniform = (page, value) => (page.network.logarithmic ? Math.log(value) : value);
  const fromUniform = (page, t) => (page.network.logarithmic ? Math.exp(t) : t);

  /* Where a parameter lies in its box: 0 and 1 are the ends. */
  function boxFraction(page, value, p) {
    const { low, high } = page.network;
    return (uniform(page, value) - low[p]) / (high[p] - low[p]);
  }

  /* What the generator makes of μ: its embedding, γ and β of every layer, q. */
  function modulations(page, mu) {
    const network = page.network, arrays = network.arrays;
    let h = Float64Array.from(mu, (value, p) => (boxFraction(page, value, p) - 0.5) * Math.sqrt(12));
    const times = (name) => product(h, network.transposed[name], 1, h.length, arrays[name].shape[1]);
    for (let layer = 0; layer < network.generator_layers; layer++) {
      const bias = arrays[`generator_bias_${layer}`].values;
      h = times(`generator_weight_${layer}`).map((value, c) => Math.tanh(value + bias[c]));
    }
    const layers = [];
    for (let layer = 0; layer < network.modulated; layer++) {
      const [scale, shift] = [`scale_${layer}`, `shift_${layer}`];
      layers.push({
        gamma: scale in arrays ? times(scale).map((value) => 1 + value) : null,
        beta: shift in arrays ? times(shift) : null,
      });
    }
    let q = arrays.factor_offset ? Float64Array.from(arrays.factor_offset.values) : new Float64Array(0);
    if (arrays.factor_head) q = times("factor_head").map((value, c) => value + q[c]);
    return { layers, q };
  }

  /* The channels of the lift at every point, group by group: rows of channels and their number. */
  function lifted(page, asked, layers) {
    let own = page.network.layers;
    return page.slices.lift.map((group) => {
      const width = group.kind === "sites" ? group.coefficients.shape[2] : group.base.shape[0];
      if (group.kind === "polynomial") return { width, rows: polynomial(group, asked) };
      if (group.kind === "logarithm") return { width, rows: logarithm(group, asked) };
      own += 2;
      return { width, rows: sites(group, asked, layers.slice(own - 2, own), page.slices.coordinates.length) };
    });
  }

  /* Some of the channels side by side. */
  function selected(groups, channels, count) {
    const all = groups.flatMap(({ width, rows }) => Array.from({ length: width }, (_, c) => ({ width, rows, c })));
    const z = new Float64Array(count * channels.length);
    channels.forEach((channel, place) => {
      const { width, rows, c } = all[channel];
      for (let p = 0; p < count; p++) z[p * channels.length + place] = rows[p * width + c];
    });
    return z;
  }

  /* N at every point of a question, for one μ. */
  function value(page, question) {
    const net = page.network, asked = columnsOf(question, page.slices), { count } = asked;
    const { layers, q } = modulations(page, question.mu), groups = lifted(page, asked, layers);
    const activation = ACTIVATIONS[net.activation];
    let z = selected(groups, net.bent, count), width = net.bent.length;
    for (let layer = 0; layer < net.layers; layer++) {
      modulated(z, new Float64Array(width), layers[layer]);
      if (!(net.linear_lift && layer === 0)) for (let i = 0; i < z.length; i++) z[i] = activation(z[i]);
      const weight = net.arrays[`weight_${layer}`], bias = net.arrays[`bias_${layer}`].values;
      z = product(z, net.transposed[`weight_${layer}`], count, width, weight.shape[1]);
      width = weight.shape[1];
      for (let i = 0; i < z.length; i++) z[i] += bias[i % width];
    }
    const rest = selected(groups, net.read_out, count), skipping = net.read_out.length;
    const level = net.arrays.level.values[0], amplitude = net.arrays.amplitude.values[0];
    return z.map((last, p) => level + amplitude * (last + dot(rest, p * skipping, q, 0, skipping)));
  }

  /* |x|² over the space coordinates. */
  function squaredNorms(page, question) {
    const { count, columns } = columnsOf(question, page.slices), found = new Float64Array(count);
    found.fill(page.slices.squared_norm);
    for (const [k, s] of columns) {
      if (k === page.slices.coordinates.length) continue;
      const base = page.slices.coordinates[k].base;
      for (let p = 0; p < count; p++) found[p] += s[p] * (s[p] + 2 * base);
    }
    return found;
  }

  return { value, squaredNorms, transposed, uniform, fromUniform, boxFraction };
})();
