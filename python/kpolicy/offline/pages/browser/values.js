// How numbers and colours of a page are written: units, and the names of colours in page.css.
const PREFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

function rounded(value, digits) {
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

function bytes(value) {
  let left = value;
  let at = 0;
  while (Math.abs(left) >= 1024 && at < PREFIXES.length - 1) {
    left /= 1024;
    at += 1;
  }
  return `${rounded(left, 1)}${PREFIXES[at]}`;
}

function seconds(value) {
  const whole = Math.abs(value);
  if (whole < 60) return `${rounded(value, 1)}s`;
  const parts = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  const first = parts.findIndex(([size]) => whole >= size);
  let left = Math.round(whole);
  const written = parts.slice(first, first + 2).map(([size, name]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count ? `${count}${name}` : "";
  });
  return (value < 0 ? "-" : "") + written.filter(Boolean).join(" ");
}

const UNITS = {
  number: (value) => rounded(value, 2),
  percent: (value) => `${rounded(100 * value, 1)}%`,
  bytes,
  seconds,
  time: (value) => new Date(value).toISOString().replace("T", " ").slice(0, 19),
};

function shownValue(value, unit) {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? (UNITS[unit] || UNITS.number)(value) : String(value);
}

// As the browser resolves it in the theme that is shown.
function colorOf(name) {
  const probe = document.getElementById("color");
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

// Shades of a map, by what a cell holds: nothing, a rejection, a further rejection, or a share from 0 to 1.
const STEPS = 5;

function shade(fill) {
  if (fill === null || fill === undefined) return "none";
  if (fill < 0) return fill === -1 ? "bad" : "soft";
  return `ramp-${Math.min(STEPS - 1, Math.floor(fill * STEPS))}`;
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}
