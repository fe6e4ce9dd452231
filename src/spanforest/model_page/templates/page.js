// Labels: the field filters the rows of the table by name.

const filter = document.getElementById("filter");
const labelRows = [...document.querySelectorAll("#label-table tbody tr")];

function filterLabels() {
  const wanted = filter.value.trim().toLowerCase();
  let number = 0;
  for (const row of labelRows) {
    row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
    number += !row.hidden;
  }
  const text = `${number} of ${labelRows.length} rows`;
  document.getElementById("filtered").textContent = wanted ? text : "";
}

filter.addEventListener("input", filterLabels);

// Label graph: a chosen label shows its neighbours; the picture dims all other edges.

function exploreGraph(graph) {
  const part = document.querySelector(".neighbours");
  const picture = document.querySelector(".label-graph svg");
  const select = document.getElementById("label");
  const dots = [...picture.querySelectorAll(".dot path")];
  const names = [...picture.querySelectorAll(".name")];
  const edges = [...picture.querySelectorAll(".edge")];

  function row([other, strength, kind, share]) {
    const line = document.createElement("tr");
    const name = document.createElement("th");
    name.scope = "row";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = graph.labels[other];
    button.addEventListener("click", () => choose(other, true));
    name.append(button);
    const value = document.createElement("td");
    value.append(strength, bar(share, kind, strength));
    const text = document.createElement("td");
    text.className = "text";
    text.textContent = graph.kinds[kind];
    line.append(name, value, text);
    return line;
  }

  function bar(share, kind, strength) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 100 10");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("class", `strength kind-${kind}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `coupling ${strength}`);
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M0 0H${Math.max(share, 1)}V10H0Z`);
    svg.append(path);
    return svg;
  }

  function choose(label, isFromTable = false) {
    select.value = label;
    const neighbours = graph.neighbours[label];
    const all = graph.sizes[label];
    const number = neighbours.length < all
      ? `the ${neighbours.length} strongest of ${all} neighbours` : `${all} ${all === 1 ? "neighbour" : "neighbours"}`;
    part.querySelector("caption").textContent = `${graph.labels[label]}: ${number}`;
    part.querySelector("tbody").replaceChildren(...neighbours.map(row));
    graph.drawn.forEach((drawn, k) => {
      for (const mark of [dots[k], names[k]]) {
        mark.classList.toggle("chosen", drawn === label);
      }
    });
    edges.forEach((edge, e) => {
      edge.classList.toggle("dim", !graph.edges[e].includes(label));
    });
    // the button that was pressed is gone: the next one takes the focus
    if (isFromTable) part.querySelector("tbody button")?.focus();
  }

  select.append(...graph.labels.map((name, label) => new Option(name, label)));
  graph.drawn.forEach((label, k) => {
    for (const mark of [dots[k], names[k]]) {
      mark.classList.add("pressable");
      mark.addEventListener("click", () => choose(label));
    }
  });
  select.addEventListener("change", () => choose(Number(select.value)));
  const first = graph.neighbours.reduce(
    (best, each, j) => (each.length && each[0][3] > best[0] ? [each[0][3], j] : best),
    [-1, 0],
  )[1];
  choose(first);
}

const graphData = document.getElementById("graph-data");
if (graphData !== null) exploreGraph(JSON.parse(graphData.textContent));

// Examples: one at a time, those with or without mistakes, by buttons or arrow keys.

function stepThrough(section) {
  const articles = [...section.querySelectorAll("article")];
  const which = document.getElementById("which");
  const [previous, next] = ["previous", "next"].map((id) => document.getElementById(id));
  let shown = articles;
  let place = 0;

  function show() {
    for (const article of articles) {
      article.classList.toggle("other", article !== shown[place]);
    }
    previous.disabled = place === 0;
    next.disabled = place >= shown.length - 1;
    document.getElementById("position").textContent = shown.length
      ? `${place + 1} of ${shown.length}` : "There is none.";
  }

  function step(by) {
    place = Math.min(Math.max(place + by, 0), Math.max(shown.length - 1, 0));
    show();
  }

  previous.addEventListener("click", () => step(-1));
  next.addEventListener("click", () => step(1));
  which?.addEventListener("change", () => {
    const isWanted = {
      "": () => true,
      wrong: (article) => Number(article.dataset.wrong) > 0,
      right: (article) => article.dataset.wrong === "0",
    }[which.value];
    shown = articles.filter(isWanted);
    place = 0;
    show();
  });
  section.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const isTaken = event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
    if (!by || isTaken || event.target.matches("select, input")) return;
    event.preventDefault();
    step(by);
  });
  show();
}

stepThrough(document.querySelector(".examples"));
