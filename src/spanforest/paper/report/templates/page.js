// Learning curves: a panel is a slider over the number of trees. The pointer or the
// arrow keys move it. The values are below the panel; without a script they are those
// of the whole ensemble.

const SVG = "http://www.w3.org/2000/svg";
const PAGE = 10;

function makeReadable(panel, numbers, area) {
  const plot = panel.querySelector(".plot");
  const picture = plot.querySelector("svg");
  const size = panel.querySelector(".size");
  const keys = [...panel.querySelectorAll(".key")];
  const nTrees = numbers.x.length;
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("class", "crosshair");
  const dots = keys.map((key) => {
    const dot = document.createElementNS(SVG, "circle");
    dot.setAttribute("r", 3);
    dot.setAttribute("class", key.className.replace("key key-", "dot-"));
    return dot;
  });
  const marks = document.createElementNS(SVG, "g");
  marks.append(line, ...dots);

  function show(t, isMarked) {
    const x = numbers.x[t - 1];
    const texts = keys.map((key, k) => {
      key.querySelector("b").textContent = numbers.text[k][t - 1];
      dots[k].setAttribute("cx", x);
      dots[k].setAttribute("cy", numbers.y[k][t - 1]);
      return key.textContent.trim();
    });
    line.setAttribute("d", `M${x} ${area.top}V${area.bottom}`);
    size.textContent = t;
    plot.setAttribute("aria-valuenow", t);
    plot.setAttribute("aria-valuetext", `${t} of ${nTrees} trees: ${texts.join(", ")}`);
    if (isMarked) picture.append(marks);
    else marks.remove();
  }

  function treesAt(event) {
    const box = picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * picture.viewBox.baseVal.width;
    const distance = (t) => Math.abs(numbers.x[t] - x);
    let nearest = 0;
    for (let t = 1; t < nTrees; t++) if (distance(t) < distance(nearest)) nearest = t;
    return nearest + 1;
  }

  const steps = {
    ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1,
    PageDown: -PAGE, PageUp: PAGE, Home: -nTrees, End: nTrees,
  };
  plot.tabIndex = 0;
  plot.setAttribute("role", "slider");
  plot.setAttribute("aria-label", `${plot.dataset.name}, number of trees`);
  plot.setAttribute("aria-valuemin", 1);
  plot.setAttribute("aria-valuemax", nTrees);
  // a number chosen by a key or a press comes back when the pointer leaves
  let chosen = nTrees;
  function choose(trees) {
    chosen = Math.min(Math.max(trees, 1), nTrees);
    show(chosen, true);
  }
  plot.addEventListener("keydown", (event) => {
    if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    choose(chosen + steps[event.key]);
  });
  plot.addEventListener("focus", () => show(chosen, true));
  plot.addEventListener("blur", () => {
    chosen = nTrees;
    show(chosen, false);
  });
  plot.addEventListener("pointerdown", (event) => choose(treesAt(event)));
  plot.addEventListener("pointermove", (event) => show(treesAt(event), true));
  plot.addEventListener("pointerleave", () => {
    show(chosen, document.activeElement === plot);
  });
  show(chosen, false);
}

const curves = JSON.parse(document.getElementById("curve-data").textContent);
document.querySelectorAll(".panel").forEach((panel, number) => {
  makeReadable(panel, curves.panels[number], curves.area);
});
