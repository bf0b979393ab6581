// What pages do beside asking for their live part again, which htmx does. Without it all is read and ordered the same.
"use strict";

// What the reader has opened or is writing stays as it is when the part around it is drawn anew.
Object.assign(Idiomorph.defaults, { ignoreActiveValue: true });
Object.assign(Idiomorph.defaults.callbacks, {
  beforeNodeMorphed: (old) => !(old instanceof Element && old.matches(".keeps")),
  beforeAttributeUpdated: (name, node) =>
    !(name === "open" && node instanceof HTMLDetailsElement) &&
    !(name === "tabindex" && node instanceof Element && node.matches(".ranks > li")),
});

function tellLink(on) {
  const link = document.getElementById("link");
  if (!link) return;
  const words = on ? link.dataset.on : link.dataset.off;
  if (link.textContent !== words) link.textContent = words;
  link.classList.toggle("off", !on);
}
document.addEventListener("htmx:sseOpen", () => tellLink(true));
document.addEventListener("htmx:sseError", () => tellLink(false));

// One stop for the tabulator in a grid of ranks; the arrow keys go on from there. What is pointed at is told in words.
function ranksOf(node) {
  return node instanceof Element ? node.closest(".ranks") : null;
}
function enter(grid, cell) {
  for (const old of grid.querySelectorAll('[tabindex="0"]')) old.tabIndex = -1;
  cell.tabIndex = 0;
}
function tellRank(cell) {
  const grid = ranksOf(cell);
  const line = grid && document.querySelector(grid.dataset.told);
  const words = cell.getAttribute("title");
  if (line && words && line.textContent !== words) line.textContent = words;
}
function perRow(cells) {
  const top = cells[0].offsetTop;
  const next = cells.findIndex((cell) => cell.offsetTop > top);
  return next < 0 ? cells.length : next;
}
function openGrids() {
  for (const grid of document.querySelectorAll(".ranks")) {
    if (grid.firstElementChild && !grid.querySelector('[tabindex="0"]')) enter(grid, grid.firstElementChild);
  }
}
document.addEventListener("keydown", (event) => {
  const grid = ranksOf(event.target);
  if (!grid || event.target === grid) return;
  const cells = [...grid.children];
  const here = cells.indexOf(event.target);
  const jump = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow(cells), ArrowDown: perRow(cells) }[event.key];
  const to = event.key === "Home" ? 0 : event.key === "End" ? cells.length - 1 : jump === undefined ? -1 : here + jump;
  if (to < 0 || to >= cells.length) return;
  event.preventDefault();
  enter(grid, cells[to]);
  cells[to].focus();
});
for (const kind of ["focusin", "mouseover"]) {
  document.addEventListener(kind, (event) => {
    const cell = event.target instanceof Element ? event.target.closest(".ranks > li") : null;
    if (cell) tellRank(cell);
  });
}
document.addEventListener("htmx:afterSettle", () => {
  openGrids();
  if (ranksOf(document.activeElement)) tellRank(document.activeElement);
});
openGrids();

// What was just answered is read first.
const answer = document.querySelector("[data-focus]");
if (answer) answer.focus();
