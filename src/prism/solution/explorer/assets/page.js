/* The page: it draws what `app.state` says, first coarsely, then finely, and tells what is known of it. Its progress
   stands in the attributes data-milliseconds, data-grid and data-check of the document, for programs that watch it. */
(() => {
  const COARSE_GRID = 40, FINE_GRID = 96, ROWS_PER_TASK = 8, CURVE_POINTS = 161;
  const SETTLED_AFTER_MS = 140, SAID_FOR_MS = 1500;
  const { shown } = drawing;
  const element = (id) => document.getElementById(id);
  const content = JSON.parse(element("content").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const page = answers.opened(content);
  const app = {
    page,
    state: views.told(page, location.hash),
    cursor: null,
    colours: { sequential: bytes(content.colours.sequential), diverging: bytes(content.colours.diverging) },
    request,
    redraw,
  };
  let pending = null, since = null, refining = 0, drawn = null;
  const built = controls.build(app);

  /* ---- drawing ---- */

  /* Draw at the next frame; a new view begins without cursor and with colours of its own. */
  function request(newView = false) {
    if (newView) {
      app.cursor = null;
      figures.forgetColours();
    }
    since ??= performance.now();
    pending ??= requestAnimationFrame(draw);
  }

  function draw() {
    pending = null;
    clearTimeout(refining);
    built.update();
    const sizes = app.state.view === "field" ? [COARSE_GRID, COARSE_GRID] : [CURVE_POINTS, 1];
    drawn = { found: figures.computed(app, sizes), sizes };
    redraw();
    writeTrust();
    writeReference();
    document.documentElement.dataset.milliseconds = (performance.now() - since).toFixed(1);
    document.documentElement.dataset.grid = String(sizes[0]);
    since = null;
    refining = setTimeout(settle, SETTLED_AFTER_MS);
  }

  /* What was computed, on canvases as they are now, unless something else is about to be. */
  function redraw() {
    if (drawn === null || pending !== null) return;
    if (app.state.view === "field") figures.field(app, drawn.found, drawn.sizes);
    else figures.curve(app, drawn.found);
    writeReading();
  }

  /* Once nothing moves: the address, and a finer grid, some rows at a time. */
  function settle() {
    try {
      history.replaceState(null, "", views.address(app.page, app.state));
    } catch {
      // a browser that keeps the address of files as it is; "copy the link" tells it
    }
    if (app.state.view !== "field") return;
    const parts = [];
    const next = () => {
      const first = parts.length * ROWS_PER_TASK, last = Math.min(FINE_GRID, first + ROWS_PER_TASK);
      parts.push(figures.computed(app, [FINE_GRID, FINE_GRID], [first, last]));
      if (last < FINE_GRID) return void (refining = setTimeout(next, 0));
      const joined = (name) => (parts[0][name] === null ? null : Float64Array.from(parts.flatMap((part) => Array.from(part[name]))));
      const found = { question: parts[0].question, u: joined("u"), exact: joined("exact"), difference: joined("difference") };
      drawn = { found, sizes: [FINE_GRID, FINE_GRID] };
      redraw();
      document.documentElement.dataset.grid = String(FINE_GRID);
    };
    refining = setTimeout(next, 0);
  }

  /* ---- words ---- */

  /* u at the cursor. */
  function writeReading() {
    if (!app.cursor) return void (element("reading").textContent = "");
    const axes = views.axes(app.page, app.state), question = views.at(app.page, app.state, app.cursor);
    const u = answers.predicted(app.page, question)[0], exact = answers.exact(app.page, question);
    const where = axes.map(({ name }, i) => `${name} = ${shown(app.cursor[i], 4)}`).join(", ");
    const truth = exact && Number.isFinite(exact[0]) ? `, u = ${shown(exact[0], 6)}, û − u = ${shown(u - exact[0])}` : "";
    const beyond = answers.outside(app.page, question)[0] ? `; beyond where points were drawn (${app.page.region_in_words})` : "";
    element("reading").textContent = `At ${where}: û = ${shown(u, 6)}${truth}${beyond}`;
  }

  /* The reference at the one point where there is one. */
  function writeReference() {
    const found = answers.reference(app.page, app.state.mu);
    if (found === null) return void (element("reference").textContent = "");
    const names = app.page.slices.coordinates.map(({ name }) => name), moved = Object.entries(found.space);
    const point = moved.length ? moved.map(([k, value]) => `${names[k]} = ${shown(value, 4)}`).join(", ") : "the centre";
    const where = found.time === null ? point : `${point}, t = ${shown(found.time, 4)}`;
    element("reference").textContent = Number.isFinite(found.value)
      ? `Reference at ${where}: u = ${shown(found.value, 7)} ± ${shown(found.uncertainty, 2)}; û = ${shown(found.u, 7)}, û − u = ${shown(found.u - found.value, 2)}.`
      : `The page holds no reference at ${where} for μ outside the trained box.`;
  }

  function writeTrust() {
    const found = trust.at(app.page, app.state.mu), parts = [boxInWords(found)];
    if (found.error !== undefined) parts.push(`estimated relative error ${shown(found.error, 2)} (${shown(found.low, 2)} to ${shown(found.high, 2)})`);
    else parts.push(`error unknown: ${found.reason}`);
    if (found.residual !== undefined) parts.push(`residual ${shown(found.residual, 2)}, larger than at ${Math.round(100 * found.quantile)} % of the box`);
    const line = element("trust");
    line.textContent = parts.join("; ");
    line.className = found.inside ? "" : "outside";
  }

  function boxInWords({ tuned, inside, beyond }) {
    if (tuned) return inside ? "● the μ it was tuned for" : "▲ not the μ it was tuned for";
    if (inside) return "● inside the trained box";
    const far = beyond.map((width, p) => (width > 0 ? `${app.page.parameters[p].name} by ${shown(width, 2)} box widths` : ""));
    return `▲ outside the trained box: ${far.filter(Boolean).join(", ")}`;
  }

  /* Whether the page computes what PRISM computed. */
  function check() {
    const found = answers.selfCheck(app.page), line = element("check"), of = `${found.count} values that PRISM computed`;
    const { agreement, slices } = app.page, table = Math.max(agreement, 10 * (slices.exact?.error ?? 0));
    const good = found.predicted <= agreement && (found.exact ?? 0) <= table;
    line.className = good ? "good" : "bad";
    line.textContent = good
      ? `✓ checked against ${of}: they differ by ${shown(found.predicted, 2)} of the solution's size at most`
      : `✗ this page does not agree with ${of}: they differ by ${shown(Math.max(found.predicted, found.exact ?? 0), 2)} of the solution's size`;
    document.documentElement.dataset.check = good ? "good" : "bad";
    return good;
  }

  /* ---- sharing ---- */

  element("png").addEventListener("click", () =>
    picture().toBlob((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${app.page.family}-${app.state.view}.png`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), SAID_FOR_MS);
    }),
  );

  /* What is seen, as one picture. */
  function picture() {
    const all = figures.all(), ratio = all[0].canvas.width / all[0].canvas.clientWidth;
    const found = document.createElement("canvas"), top = 44 * ratio, line = 20 * ratio;
    found.width = all.reduce((sum, { canvas }) => sum + canvas.width, 0);
    found.height = top + line + Math.max(...all.map(({ canvas }) => canvas.height));
    const context = found.getContext("2d");
    context.fillStyle = drawing.colour("paper");
    context.fillRect(0, 0, found.width, found.height);
    context.fillStyle = drawing.colour("ink");
    context.font = `bold ${15 * ratio}px system-ui, sans-serif`;
    const time = app.page.slices.time && !views.timeIsAxis(app.state) ? `, t = ${shown(app.state.time)}` : "";
    context.fillText(`${app.page.title} at ${views.inWords(app.page, app.state)}${time}`, 10 * ratio, 18 * ratio);
    context.font = `${12 * ratio}px system-ui, sans-serif`;
    context.fillText(element("trust").textContent, 10 * ratio, 36 * ratio);
    let x = 0;
    for (const { canvas, caption } of all) {
      context.fillText(caption.textContent, x + 10 * ratio, top + 14 * ratio);
      context.drawImage(canvas, x, top + line);
      x += canvas.width;
    }
    return found;
  }

  element("link").addEventListener("click", async () => {
    const address = location.href.split("#")[0] + views.address(app.page, app.state);
    try {
      await navigator.clipboard.writeText(address);
      element("link").textContent = "copied";
    } catch {
      prompt("The link to what you see:", address);
    }
    setTimeout(() => (element("link").textContent = "copy the link"), SAID_FOR_MS);
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

  /* Another coordinate; the earliest goes where there are as many as a page holds. */
  async function add() {
    const name = element("coordinate").value.trim(), button = element("add");
    if (button.disabled) return;
    if (!/^x[1-9]\d*$/.test(name)) return void (element("added").textContent = "name one coordinate, such as x17");
    const kept = app.page.slices.coordinates.map((one) => one.name).filter((one) => one !== name);
    const names = [...kept.slice(1 - page.most_coordinates), name];
    element("added").textContent = "computing ...";
    button.disabled = true;
    try {
      const answer = await fetch(`slices?coordinates=${encodeURIComponent(names.join(","))}`), told = await answer.json();
      if (!answer.ok) throw new Error(told.error);
      app.page = answers.withSlices(app.page, told);
      app.state = views.withCoordinate(app.page, app.state, name);
      element("added").textContent = check() ? `${name} is there` : "";
      request(true);
    } catch (error) {
      element("added").textContent = String(error.message ?? error);
    } finally {
      button.disabled = false;
    }
  }

  /* ---- the beginning ---- */

  for (const remark of page.remarks) {
    const item = document.createElement("li");
    item.textContent = remark;
    element("remarks").append(item);
  }
  element("link").hidden = location.protocol === "about:"; // in the frame of a notebook, which has no address
  addEventListener("hashchange", () => {
    app.state = views.told(app.page, location.hash);
    request(true);
  });
  addEventListener("resize", () => redraw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());
  check();
  request(true);
})();
