/* Sliders, the play button and the choices of what is shown. All of them change `app.state` and ask for a drawing. */
const controls = (() => {
  const POSITIONS = 1000; // of a slider
  const PLAY_SECONDS = 5;
  const { shown } = drawing;
  const element = (id) => document.getElementById(id);

  /* A slider with a number beside it. `scale` takes values to where they are spaced evenly and back, `least` and `most`
     are its ends, `trained` the part that is marked. */
  function slider({ name, note, scale, least, most, trained, read, write, disabled = false }, request) {
    const row = document.createElement("div");
    row.className = "slider";
    row.innerHTML = `<label></label><input type="range" min="0" max="${POSITIONS}" step="1"><input type="number" step="any"><span></span><small></small>`;
    const [label, range, exact, extra, small] = row.children, [low, high] = [scale.to(least), scale.to(most)];
    label.textContent = name;
    label.htmlFor = range.id = `slider-${name}`;
    exact.id = `number-${name}`;
    exact.setAttribute("aria-label", `${name}, as a number`);
    small.textContent = note;
    ["--from", "--to"].forEach((end, i) => small.style.setProperty(end, `${(100 * (scale.to(trained[i]) - low)) / (high - low)}%`));
    range.disabled = exact.disabled = disabled;
    const digits = 4 + Math.max(0, Math.ceil(Math.log10(Math.max(Math.abs(least), Math.abs(most)) / (most - least))));
    const show = () => {
      const value = read();
      range.value = String(Math.round((POSITIONS * (scale.to(value) - low)) / (high - low)));
      range.setAttribute("aria-valuetext", shown(value, digits));
      if (document.activeElement !== exact) exact.value = String(Number(value.toPrecision(digits)));
    };
    range.addEventListener("input", () => {
      write(scale.from(low + ((high - low) * Number(range.value)) / POSITIONS));
      request();
    });
    exact.addEventListener("change", () => {
      const value = Number(exact.value);
      if (exact.value !== "" && Number.isFinite(value)) write(Math.min(most, Math.max(least, value)));
      request();
    });
    element("sliders").append(row);
    return { show, row, extra };
  }

  /* All that is there from the beginning. `app` holds page and state; `app.request(newView)` asks for a drawing. */
  function build(app) {
    const { page } = app, parameters = page.parameters.map((_, p) => parameterSlider(app, p));
    const time = page.slices.time ? timeSlider(app) : null, held = new Map();
    for (const [id, other] of [["across", "up"], ["up", "across"]])
      element(id).addEventListener("change", ({ target }) => {
        if (target.value === app.state[other]) app.state[other] = app.state[id];
        app.state[id] = target.value;
        app.request(true);
      });
    for (const id of ["view", "along"])
      element(id).addEventListener("change", ({ target }) => {
        app.state[id] = target.value;
        app.request(true);
      });
    element("hold").addEventListener("change", () => app.request());
    element("reset").addEventListener("click", () => {
      const first = views.start(app.page);
      app.state = { ...app.state, mu: first.mu, time: first.time, point: {} };
      app.request();
    });
    element("controls").addEventListener("submit", (event) => event.preventDefault());
    return {
      /* As the state is now. */
      update() {
        updateChoices(app, time);
        parameters.forEach(({ show }) => show());
        time?.show();
        updateHeld(app, held);
      },
    };
  }

  function parameterSlider(app, p) {
    const { page } = app, { name, low, high, from, to } = page.parameters[p];
    return slider(
      {
        name,
        note: page.tuned_at ? "tuned for this value" : `trained from ${shown(low)} to ${shown(high)}`,
        scale: views.scaleOf(page, { kind: "mu" }),
        least: page.tuned_at ? Math.min(from, page.tuned_at[p]) : from,
        most: page.tuned_at ? Math.max(to, page.tuned_at[p]) : to,
        trained: [low, high],
        read: () => app.state.mu[p],
        write: (value) => (app.state.mu = app.state.mu.map((own, q) => (q === p ? value : own))),
        disabled: page.tuned_at !== null,
      },
      app.request,
    );
  }

  function timeSlider(app) {
    const { low, high } = app.page.slices.time;
    const found = slider(
      {
        name: "t",
        note: `time, from ${shown(low)} to ${shown(high)}`,
        scale: views.scaleOf(app.page, { kind: "t" }),
        least: low,
        most: high,
        trained: [low, high],
        read: () => app.state.time,
        write: (value) => (app.state.time = value),
      },
      app.request,
    );
    return { ...found, stop: playButton(app, found.extra) };
  }

  /* A button that lets time pass; returns what stops it. */
  function playButton(app, parent) {
    const button = document.createElement("button");
    let frame = null;
    const say = () => {
      button.textContent = frame === null ? "▶" : "❚❚";
      button.setAttribute("aria-pressed", String(frame !== null));
      button.setAttribute("aria-label", frame === null ? "play time" : "stop time");
    };
    const stop = () => {
      if (frame === null) return;
      cancelAnimationFrame(frame);
      frame = null;
      say();
    };
    const play = () => {
      const { low, high } = app.page.slices.time, began = performance.now();
      const start = app.state.time >= high ? low : app.state.time;
      const step = (now) => {
        if (frame === null) return;
        const gone = (Math.max(0, now - began) / 1000 / PLAY_SECONDS) * (high - low);
        app.state.time = low + ((start - low + gone) % (high - low));
        app.request();
        frame = requestAnimationFrame(step);
      };
      frame = requestAnimationFrame(step);
      say();
    };
    button.type = "button";
    button.id = "play";
    button.addEventListener("click", () => (frame === null ? play() : stop()));
    parent.append(button);
    say();
    return stop;
  }

  function fill(select, names, value) {
    select.replaceChildren(...names.map((name) => new Option(name, name, false, name === value)));
    select.value = value;
  }

  function updateChoices({ page, state }, time) {
    const all = [...views.slots(page).values()], coordinates = all.filter(views.isCoordinate).map(({ name }) => name);
    fill(element("across"), coordinates, state.across);
    fill(element("up"), coordinates, state.up);
    fill(element("along"), all.filter((slot) => views.isCoordinate(slot) || !page.tuned_at).map(({ name }) => name), state.along);
    element("view").value = state.view;
    element("view").disabled = coordinates.length < 2;
    document.querySelectorAll(".of-field").forEach((label) => (label.hidden = state.view !== "field"));
    document.querySelectorAll(".of-curve").forEach((label) => (label.hidden = state.view !== "curve"));
    if (!time) return;
    time.row.hidden = views.timeIsAxis(state);
    if (time.row.hidden) time.stop();
  }

  /* Sliders of the coordinates that a curve does not run along. */
  function updateHeld(app, held) {
    const slots = app.state.view === "curve" ? views.still(app.page, app.state) : [], names = slots.map(({ name }) => name);
    for (const [name, { row }] of [...held])
      if (!names.includes(name)) {
        row.remove();
        held.delete(name);
      }
    for (const slot of slots) {
      if (held.has(slot.name)) continue;
      const found = slider(
        {
          name: slot.name,
          note: "held along the curve",
          scale: views.scaleOf(app.page, slot),
          least: slot.low,
          most: slot.high,
          trained: [slot.low, slot.high],
          read: () => app.state.point[slot.name] ?? views.base(app.page, slot),
          write: (value) => (app.state.point = { ...app.state.point, [slot.name]: value }),
        },
        app.request,
      );
      held.set(slot.name, found);
    }
    held.forEach(({ show }) => show());
  }

  return { build };
})();
