document.querySelectorAll(".turning:not([data-ready])").forEach(root => {
  root.dataset.ready = 1;
  const {paths, points, classes} = JSON.parse(root.dataset.turning);
  const get = name => root.querySelector(name), names = ["pub", "safe"];
  const words = ["published", "safeguarded"];
  let start = 0, step = 0, timer = null;
  const svg = (parent, name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    parent.append(made);
  };
  const mark = (parent, x, y, one) => one
    ? svg(parent, "circle", {cx: x, cy: y, r: 4, class: "one"})
    : svg(parent, "rect", {x: x - 4, y: y - 4, width: 8, height: 8, class: "two"});
  points.forEach(([x, y], i) => mark(get(".cloud"), x, -y, classes[i]));
  const place = ([angle, height]) => [40 + 1.6 * angle, 270 - 2.4 * height];
  function draw() {
    get(".trail").replaceChildren();
    names.forEach((name, k) => {
      const path = paths[start][k], now = path[step], turn = now[0] * Math.PI / 180;
      const [c, s] = [Math.cos(turn), Math.sin(turn)], line = get("line." + name);
      line.setAttribute("x1", -160 * c); line.setAttribute("x2", 160 * c);
      line.setAttribute("y1", 160 * s); line.setAttribute("y2", -160 * s);
      const row = get(".row-" + name);
      row.replaceChildren();
      svg(row, "path", {d: "M-165 0H165", class: "axis"});
      points.forEach(([x, y], i) => mark(row, x * c + y * s, 0, classes[i]));
      path.slice(0, step + 1).forEach(one => {
        const [x, y] = place(one);
        const box = {x: x - 3, y: y - 3, width: 6, height: 6, class: "dot-safe"};
        if (k) svg(get(".trail"), "rect", box);
        else svg(get(".trail"), "circle", {cx: x, cy: y, r: 3, class: "dot-pub"});
      });
      const [x, y] = place(now), dot = get(".trail ~ .dot-" + name);
      if (k) { dot.setAttribute("x", x - 7.5); dot.setAttribute("y", y - 7.5); }
      else { dot.setAttribute("cx", x); dot.setAttribute("cy", y); }
      get(".said-" + name).textContent = `${words[k]}, step ${step}: ${now[1]} percent`;
    });
    const angle = Math.round(paths[start][0][0][0]);
    get(".angle").textContent = start ? angle + "°" : "as in the thesis, " + angle + "°";
    get(".start").value = start;
    get(".start").setAttribute("aria-valuetext", get(".angle").textContent);
  }
  const last = paths[0][0].length - 1;
  function pause() {
    clearInterval(timer);
    timer = null;
    get(".play").textContent = "Play";
    get(".said").setAttribute("aria-live", "polite");
  }
  function forward() { if (step < last) { step++; draw(); } else pause(); }
  function begin(from) { pause(); start = from; step = 0; draw(); }
  get(".step").onclick = () => { pause(); forward(); };
  get(".start").oninput = event => begin(+event.target.value);
  get(".play").onclick = () => {
    if (timer) return pause();
    if (step === last) { step = 0; draw(); }
    get(".play").textContent = "Pause";
    get(".said").setAttribute("aria-live", "off");
    timer = setInterval(forward, 700);
  };
  draw();
});
