/* Fields and curves on a canvas, in the colours of the page. */
const drawing = (() => {
  const pixelRatio = () => Math.min(2, globalThis.devicePixelRatio || 1);
  const MARGIN = { left: 58, right: 78, top: 8, bottom: 36 };

  /* The colours of the style sheet, read once for each scheme. */
  const palette = new Map();
  const dark = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
  dark?.addEventListener("change", () => palette.clear());

  function colour(name) {
    if (!palette.has(name)) palette.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
    return palette.get(name);
  }

  /* A number with as many digits as a reader needs. */
  function shown(value, digits = 3) {
    if (value === null || !Number.isFinite(value)) return "no value";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e5)) return Number(value.toPrecision(digits)).toExponential().replace("e+", "e").replaceAll("-", "−");
    return Number(value.toPrecision(digits)).toString().replace("-", "−");
  }

  /* The same with so many digits more that values over this span can be told apart. */
  function shownOver(value, span, digits = 3) {
    const more = span > 0 && value !== 0 ? Math.ceil(Math.log10(Math.abs(value) / span)) : 0;
    return shown(value, Math.min(9, digits + Math.max(0, Number.isFinite(more) ? more : 0)));
  }

  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((found) => found >= raw);
    const first = Math.ceil(low / step - 1e-9), number = Math.floor(high / step + 1e-9) - first + 1;
    return Array.from({ length: Math.max(0, Math.min(number, 2 * count + 2)) }, (_, k) => (first + k) * step);
  }

  /* The canvas cleared and scaled, and the frame inside it. */
  function prepared(canvas, aspect) {
    const width = canvas.clientWidth || 320, height = Math.round(aspect * (width - MARGIN.left - MARGIN.right)) + MARGIN.top + MARGIN.bottom;
    const ratio = pixelRatio();
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = context.strokeStyle = colour("ink");
    context.lineWidth = 1;
    const frame = { x: MARGIN.left, y: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
    return { context, frame };
  }

  /* The frame with the ticks and names of both sides. */
  function framed(context, frame, across, up) {
    const place = (axis, value, size) => ((value - axis.low) / (axis.high - axis.low)) * size;
    context.strokeStyle = colour("quiet");
    context.strokeRect(frame.x, frame.y, frame.width, frame.height);
    context.fillStyle = colour("ink");
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const tick of ticks(across.low, across.high, Math.max(2, Math.min(5, frame.width / 60)))) {
      const x = frame.x + place(across, tick, frame.width);
      context.fillRect(x, frame.y + frame.height, 1, 4);
      context.fillText(shownOver(tick, across.high - across.low), x, frame.y + frame.height + 6);
    }
    context.fillText(across.name, frame.x + frame.width / 2, frame.y + frame.height + 21);
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const tick of ticks(up.low, up.high, 5)) {
      const y = frame.y + frame.height - place(up, tick, frame.height);
      context.fillRect(frame.x - 4, y, 4, 1);
      context.fillText(shownOver(tick, up.high - up.low), frame.x - 6, y);
    }
    context.save();
    context.translate(8, frame.y + frame.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(up.name, 0, 0);
    context.restore();
  }

  /* u over two axes: `values` run slowly across and fast up; NaN stays empty. */
  function field(canvas, { values, sizes, across, up, limits, colours, cursor }) {
    const { context, frame } = prepared(canvas, 1), [columns, rows] = sizes, last = colours.length / 3 - 1;
    const image = new ImageData(columns, rows);
    for (let i = 0; i < columns; i++)
      for (let j = 0; j < rows; j++) {
        const value = values[i * rows + j], at = 4 * ((rows - 1 - j) * columns + i);
        if (!Number.isFinite(value)) continue;
        const part = limits[1] > limits[0] ? (value - limits[0]) / (limits[1] - limits[0]) : 0.5;
        const entry = 3 * Math.round(Math.min(1, Math.max(0, part)) * last);
        image.data.set([colours[entry], colours[entry + 1], colours[entry + 2], 255], at);
      }
    context.imageSmoothingEnabled = true;
    context.drawImage(painted(image), 0.5, 0.5, columns - 1, rows - 1, frame.x, frame.y, frame.width, frame.height);
    framed(context, frame, across, up);
    bar(context, frame, limits, colours);
    if (cursor) cross(context, frame, across, up, cursor);
    return frame;
  }

  /* An image that can be drawn at any size. */
  function painted(image) {
    const canvas = document.createElement("canvas");
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  function bar(context, frame, limits, colours) {
    const x = frame.x + frame.width + 8, count = colours.length / 3, image = new ImageData(1, count);
    for (let row = 0; row < count; row++) {
      const entry = 3 * (count - 1 - row);
      image.data.set([colours[entry], colours[entry + 1], colours[entry + 2], 255], 4 * row);
    }
    context.drawImage(painted(image), x, frame.y, 10, frame.height);
    context.fillStyle = colour("ink");
    context.textAlign = "left";
    context.font = "11px system-ui, sans-serif";
    const middle = (limits[0] + limits[1]) / 2, small = 1e-3 * (limits[1] - limits[0]);
    [[limits[1], "top", 0], [middle, "middle", 0.5], [limits[0], "bottom", 1]].forEach(([value, baseline, part]) => {
      context.textBaseline = baseline;
      const text = shownOver(Math.abs(value) < small ? 0 : value, limits[1] - limits[0], 2);
      context.fillText(text, x + 13, frame.y + part * frame.height);
    });
  }

  function cross(context, frame, across, up, [a, b]) {
    const x = frame.x + ((a - across.low) / (across.high - across.low)) * frame.width;
    const y = frame.y + frame.height - ((b - up.low) / (up.high - up.low)) * frame.height;
    for (const [style, width] of [["#000", 3], ["#fff", 1.2]]) {
      context.strokeStyle = style;
      context.lineWidth = width;
      context.beginPath();
      context.arc(x, y, 5, 0, 2 * Math.PI);
      context.stroke();
    }
    context.lineWidth = 1;
  }

  /* Lines over one axis: [{values, colour, dash, width}], NaN left out; `mark` is where the cursor stands, `span` the part
     of the axis that was trained. */
  function curves(canvas, { along, lines, name, mark, span }) {
    const { context, frame } = prepared(canvas, 0.62);
    const all = lines.flatMap(({ values }) => Array.from(values).filter(Number.isFinite));
    let low = Math.min(...all), high = Math.max(...all);
    if (!all.length) [low, high] = [0, 1];
    const room = Math.max((high - low) * 0.06, Math.abs(high) * 1e-6) || 1;
    const up = { name, low: low - room, high: high + room };
    const x = (value) => frame.x + ((value - along.low) / (along.high - along.low)) * frame.width;
    const y = (value) => frame.y + frame.height - ((value - up.low) / (up.high - up.low)) * frame.height;
    if (span) {
      context.fillStyle = colour("panel");
      context.fillRect(x(span[0]), frame.y, x(span[1]) - x(span[0]), frame.height);
    }
    for (const { values, colour: name, dash, width } of lines) {
      context.strokeStyle = colour(name);
      context.setLineDash(dash || []);
      context.lineWidth = width || 2;
      context.beginPath();
      let open = false;
      values.forEach((value, i) => {
        if (!Number.isFinite(value)) {
          open = false;
          return;
        }
        const at = along.values[i];
        open ? context.lineTo(x(at), y(value)) : context.moveTo(x(at), y(value));
        open = true;
      });
      context.stroke();
    }
    context.setLineDash([]);
    context.lineWidth = 1;
    if (mark !== null) {
      context.fillStyle = colour("quiet");
      context.fillRect(x(mark), frame.y, 1, frame.height);
    }
    framed(context, frame, along, up);
    return frame;
  }

  return { field, curves, shown, shownOver, colour };
})();
