document.querySelectorAll(".turning:not([data-ready])").forEach(root => {
  root.dataset.ready = 1;
  root.querySelectorAll(".still").forEach(still => still.remove());  // where no script runs it stays
  root.insertAdjacentHTML("beforeend", root.dataset.panels);
  const data = JSON.parse(root.dataset.turning), {classes, gamma, sigma, constants} = data;
  const get = name => root.querySelector(name), names = ["pub", "safe"];
  const words = ["published", "with the level shift"];
  let points, paths, start, step, timer = null, best, curve;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  // J = sum Gamma_ij exp(-(z_i - z_j)^2 / 2 sigma^2), and Phi with grad J = 2 Phi W
  const unit = angle => [Math.cos(angle * Math.PI / 180), Math.sin(angle * Math.PI / 180)];
  function pairs(angle, each) {
    const [c, s] = unit(angle);
    for (let i = 0; i < points.length; i++) for (let j = 0; j < i; j++) {
      const x = points[i][0] - points[j][0], y = points[i][1] - points[j][1], z = x * c + y * s;
      const G = gamma[classes[i]][classes[j]];
      each(2 * G * Math.exp(-z * z / (2 * sigma * sigma)), x, y);
    }
  }
  function J(angle) {
    let sum = 0;
    points.forEach((_, i) => { sum += gamma[classes[i]][classes[i]]; });
    pairs(angle, k => { sum += k; });
    return sum;
  }
  function phi(angle) {
    const found = [0, 0, 0];  // its entries 11, 12, 22
    pairs(angle, (k, x, y) => {
      const w = -k / (2 * sigma * sigma);
      found[0] += w * x * x; found[1] += w * x * y; found[2] += w * y * y;
    });
    return found;
  }
  const form = ([a, b, d], angle) => {
    const [c, s] = unit(angle);
    return a * c * c + 2 * b * c * s + d * s * s;
  };
  const top = ([a, b, d]) => (Math.atan2(2 * b, a - d) * 90 / Math.PI + 180) % 180;
  const published = angle => top(phi(angle));
  function shifted(angle, memory) {  // the shift is raised until the step brings what it promised
    const at = phi(angle), [c, s] = unit(angle), size = Math.hypot(at[0], at[1], at[1], at[2]);
    for (let tries = 0; tries < 60; tries++) {
      const t = memory.shift;
      const next = top([at[0] + t * c * c, at[1] + t * c * s, at[2] + t * s * s]);
      const promised = form(at, next) - form(at, angle);
      if (J(next) - J(angle) >= constants.promise * promised - 1e-9 * size) {
        memory.shift = t > constants.floor * size / 8 ? t / 2 : 0;
        return next;
      }
      memory.shift = Math.max(constants.raised * t, constants.floor * size);
    }
    return angle;
  }
  function walk() {
    const memory = {shift: 0}, both = [[start], [start]];
    for (let k = 0; k < data.steps; k++) {
      both[0].push(published(both[0][k]));
      both[1].push(shifted(both[1][k], memory));
    }
    return both;
  }
  const apart = (a, b) => { const d = Math.abs(a - b) % 180; return Math.min(d, 180 - d); };
  function outcome(path, t) {
    const [now, was, before] = [path[t], path[t - 1], path[t - 2]];
    if (t > 1 && apart(now, before) < 0.5 && apart(now, was) > 2)
      return `now cycling between ${Math.round(was)}° and ${Math.round(now)}°`;
    if (t > 0 && apart(now, was) < 0.1) {
      const bend = J(now + 1) + J(now - 1) - 2 * J(now);
      const high = J(now) > 0.995 * best ? " the highest" : " a";
      return bend < 0 ? `at rest on${high} maximum` : "at rest where J has no maximum";
    }
    return t && J(now) < J(was) ? "J has fallen" : t ? "J has risen" : "at the start";
  }

  const svg = (parent, name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    parent.append(made);
    return made;
  };
  const mark = (parent, x, y, k) => k
    ? svg(parent, "rect", {x: x - 4, y: y - 4, width: 8, height: 8, class: "two"})
    : svg(parent, "circle", {cx: x, cy: y, r: 4, class: "one"});
  const place = angle => [40 + 1.6 * angle, 270 - 240 * Math.max(0, J(angle)) / best];
  function landscape() {
    const grid = Array.from({length: 91}, (_, k) => 2 * k);
    best = Math.max(...grid.map(J));
    curve = grid.map(a => place(a).map(v => v.toFixed(1)).join(",")).join(" ");
    get(".curve").setAttribute("points", curve);
    points.forEach(([x, y], i) => {  // a mark stays while a finger is on it
      const old = get(`.cloud [data-sample="${i}"]`);
      if (old) old.setAttribute("transform", `translate(${x} ${-y})`);
      else svg(get(".cloud"), "g", {"data-sample": i, transform: `translate(${x} ${-y})`})
        .append(mark(get(".cloud"), 0, 0, classes[i]));
    });
  }
  function draw() {
    get(".trail").replaceChildren();
    names.forEach((name, k) => {
      const path = paths[k], now = path[step], [c, s] = unit(now);
      const long = Math.min(155, 130 / Math.abs(s));  // not into the words below
      get(".cloud").querySelectorAll("line." + name + (k ? "" : ",line.grip")).forEach(line => {
        line.setAttribute("x1", -long * c); line.setAttribute("x2", long * c);
        line.setAttribute("y1", long * s); line.setAttribute("y2", -long * s);
      });
      const row = get(".row-" + name);
      row.replaceChildren();
      svg(row, "path", {d: "M-155 0H155", class: "axis"});
      points.forEach(([x, y], i) => mark(row, x * c + y * s, 0, classes[i]));
      path.slice(0, step + 1).forEach(one => {
        const [x, y] = place(one);
        const box = {x: x - 3, y: y - 3, width: 6, height: 6, class: "dot-safe"};
        if (k) svg(get(".trail"), "rect", box);
        else svg(get(".trail"), "circle", {cx: x, cy: y, r: 3, class: "dot-pub"});
      });
      const [x, y] = place(now), dot = get(".trail ~ .dot-" + name);
      if (k) { dot.setAttribute("x", x - 6.5); dot.setAttribute("y", y - 6.5); }
      else { dot.setAttribute("cx", x); dot.setAttribute("cy", y); }
      const share = Math.round(100 * J(now) / best);
      get(".said-" + name).textContent =
        `${words[k]}, step ${step}: J = ${share} %, ${outcome(path, step)}`;
    });
    const slider = get(".heights");
    slider.setAttribute("aria-valuenow", Math.round(start) % 180);
    slider.setAttribute("aria-valuetext", `start at ${Math.round(start)} degrees`);
  }
  function pause() {
    clearInterval(timer);
    timer = null;
    get(".play").textContent = "Play";
    get(".said").setAttribute("aria-live", "polite");
  }
  function forward() { if (step < data.steps) { step++; draw(); } else pause(); }
  function begin(angle) {
    pause();
    start = ((angle % 180) + 180) % 180; step = 0; paths = walk(); draw();
  }
  function reset() {
    points = data.points.map(point => [...point]);
    landscape(); begin(data.start); step = data.shown; draw();
  }

  const at = (panel, event) => {  // where the pointer is, in the panel's own units
    const spot = new DOMPoint(event.clientX, event.clientY);
    return spot.matrixTransform(panel.getScreenCTM().inverse());
  };
  const handle = event => event.target.closest(".grip,.one,.two");
  function follow(panel, grabbed) {  // `grabbed(event)` says what a move then does, or nothing
    let moved = null, from = null;  // a finger's start, until it is known that it does not scroll
    panel.addEventListener("touchstart", event => {
      if (handle(event)) event.preventDefault();  // a finger on a handle moves it in all directions
    }, {passive: false});
    panel.addEventListener("pointerdown", event => {
      moved = grabbed(event);
      if (!moved) return;
      from = event.pointerType === "touch" && !handle(event) ? event : null;
      if (from) return;
      event.preventDefault();
      panel.focus({preventScroll: true});
      panel.setPointerCapture(event.pointerId);
      moved(event);
    });
    panel.addEventListener("pointermove", event => {
      if (!moved) return;
      const [x, y] = from ? [event.clientX - from.clientX, event.clientY - from.clientY] : [9, 0];
      if (Math.abs(x) < 8 || Math.abs(x) < Math.abs(y)) return;
      from = null;
      moved(event);
    });
    panel.addEventListener("pointerup", event => {
      if (moved && from) moved(event);  // a tap
      moved = null;
    });
    panel.addEventListener("pointercancel", () => { moved = null; });
  }
  follow(get(".plane"), event => {
    const sample = event.target.parentElement.dataset.sample;
    if (sample !== undefined) return move => {
      const {x, y} = at(get(".plane"), move), within = v => Math.max(-150, Math.min(150, v));
      points[sample] = [within(x), Math.max(-130, Math.min(130, -y))];
      landscape(); begin(start);
    };
    const {y} = at(get(".plane"), event);
    if (y < 135) return move => {
      const spot = at(get(".plane"), move);
      begin(Math.atan2(-spot.y, spot.x) * 180 / Math.PI);
    };
  });
  follow(get(".heights"), () => move => begin((at(get(".heights"), move).x - 40) / 1.6));
  get(".heights").addEventListener("keydown", event => {
    const by = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10};
    if (event.key in by) begin(Math.round(start) + by[event.key]);
    else if (event.key === "Home") begin(0);
    else if (event.key === "End") begin(179);
    else return;
    event.preventDefault();
  });
  get(".step").onclick = () => { pause(); forward(); };
  get(".again").onclick = reset;
  get(".play").onclick = () => {
    if (timer) return pause();
    if (step === data.steps) { step = 0; draw(); }
    get(".play").textContent = "Pause";
    get(".said").setAttribute("aria-live", "off");
    timer = setInterval(forward, still ? 1500 : 700);
  };
  reset();
});
