document.querySelectorAll(".slides:not([data-ready])").forEach(root => {
  root.dataset.ready = 1;
  const {parts, frames: numbers, stacked} = JSON.parse(root.querySelector("script").textContent);
  const frames = numbers.map(frame => frame.map(number => parts[number]).join(""));
  const labels = JSON.parse(root.dataset.labels), phone = matchMedia("(max-width: 599px)");
  const image = root.querySelector("img"), last = frames.length - 1;
  const ink = getComputedStyle(root).color.match(/\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0);
  if (!("content_root" in document.documentElement.dataset))  // a page of the book says so itself
    image.style.colorScheme = ink > 384 ? "dark" : "light";
  const make = (name, more) => Object.assign(document.createElement(name), more);
  const controls = make("div", {className: "controls"}), label = make("label");
  const words = make("span", {className: "said"});
  const slider = make("input", {type: "range", min: 0, max: last, value: root.dataset.shown});
  const play = make("button", {type: "button", textContent: "Play"});
  const step = make("button", {type: "button", textContent: "One step"});
  const below = frame => {  // its panels below each other
    const {size: [across, down], panels, dpi} = stacked, pixels = side => Math.round(side * dpi / 72);
    const part = ([x, y, left, top, w, h]) => `<svg x="${x}" y="${y}" width="${w}" height="${h}"
      viewBox="${left} ${top} ${w} ${h}"><use xlink:href="#whole"/></svg>`;
    return frame.replace(/^<svg[^>]*>/, `<svg xmlns="http://www.w3.org/2000/svg"
      xmlns:xlink="http://www.w3.org/1999/xlink" width="${pixels(across)}" height="${pixels(down)}"
      viewBox="0 0 ${across} ${down}"><defs><g id="whole">`).replace(/<\/svg>$/,
      `</g></defs>${panels.map(part).join("")}</svg>`);
  };
  let timer = null;
  const show = number => {
    slider.value = number;
    const said = `${root.dataset.name}: ${labels[number]}`, frame = frames[number];
    const drawn = stacked && phone.matches ? below(frame) : frame;
    image.src = drawn.startsWith("<") ? `data:image/svg+xml,${encodeURIComponent(drawn)}` : drawn;
    words.textContent = said;
    slider.setAttribute("aria-valuetext", said);
  };
  const pause = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  };
  const forward = () => {
    if (+slider.value < last) show(+slider.value + 1);
    if (+slider.value === last) pause();
  };
  slider.addEventListener("input", () => { pause(); show(+slider.value); });
  step.onclick = () => { pause(); forward(); };
  play.onclick = () => {
    if (timer) return pause();
    if (+slider.value === last) show(0);
    play.textContent = "Pause";
    timer = setInterval(forward, matchMedia("(prefers-reduced-motion: reduce)").matches ? 1500 : 800);
  };
  label.append(words, slider);
  controls.append(play, step, label);
  phone.addEventListener("change", () => show(+slider.value));
  image.before(controls);
  show(+root.dataset.shown);
});
