// Starts a page: draws what comes into view, and connects the buttons.
const PAGE = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const boxes = [...document.querySelectorAll(".box")];

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    seen.unobserve(entry.target);
    draw(entry.target);
  }
}, { rootMargin: "400px" });

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
}

function themeChanged() {
  document.getElementById("theme").textContent = isDark() ? "Light colours" : "Dark colours";
  drawn.forEach(redraw);
}

for (const box of boxes) {
  // The height is that of the chart before it is drawn, so that nothing moves while one scrolls.
  box.style.height = `${PAGE.charts[box.dataset.chart].height}px`;
  box.style.minWidth = `${PAGE.charts[box.dataset.chart].widthMin}px`;
  const figure = box.closest("figure");
  for (const button of figure.querySelectorAll("button[data-save]")) {
    button.addEventListener("click", () => {
      draw(box);
      SAVERS[button.dataset.save](drawn.get(box));
    });
  }
  figure.querySelector("select")?.addEventListener("change", (event) => {
    draw(box);
    const state = drawn.get(box);
    state.view = Number(event.target.value);
    redraw(state);
  });
  seen.observe(box);
}
document.querySelectorAll("[data-table]").forEach(drawTable);

// A link to a section that is folded opens it.
function unfold() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
addEventListener("hashchange", unfold);
unfold();

document.getElementById("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  themeChanged();
});
dark.addEventListener("change", themeChanged);
themeChanged();

// Paper is white, and has all that is folded.
let before = {};
addEventListener("beforeprint", () => {
  const folded = [...document.querySelectorAll("details:not([open])")];
  before = { theme: root.dataset.theme, folded };
  folded.forEach((details) => { details.open = true; });
  root.dataset.theme = "light";
  boxes.forEach(draw);
  themeChanged();
});
addEventListener("afterprint", () => {
  before.folded.forEach((details) => { details.open = false; });
  if (before.theme) root.dataset.theme = before.theme;
  else delete root.dataset.theme;
  themeChanged();
});
