document.querySelectorAll(".slides:not([data-ready])").forEach(root => {
  root.dataset.ready = 1;
  const frames = root.dataset.frames.split(" "), labels = root.dataset.labels.split("|");
  const image = root.querySelector("img"), label = document.createElement("label");
  label.style.display = "block";
  const slider = document.createElement("input");
  Object.assign(slider, {type: "range", min: 0, max: frames.length - 1, value: root.dataset.shown});
  slider.style.cssText = "display: block; min-height: 2rem; width: 100%; max-width: 30rem";
  const words = document.createElement("span");
  const show = () => {
    const said = `${root.dataset.name}: ${labels[slider.value]}`;
    image.src = frames[slider.value];
    words.textContent = said;
    slider.setAttribute("aria-valuetext", said);
  };
  slider.addEventListener("input", show);
  label.append(words, slider);
  root.prepend(label);
  show();
});
