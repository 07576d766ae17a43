// Tables that are sorted by a column and filtered by a text. Rows are added to the page as they are asked for.
const ROWS_AT_ONCE = 100;

function drawTable(host) {
  const spec = PAGE.tables[host.dataset.table];
  const state = { column: -1, isUp: true, words: "", shown: ROWS_AT_ONCE };
  const filter = element("input");
  filter.type = "search";
  filter.placeholder = "Filter";
  filter.setAttribute("aria-label", `Filter: ${spec.title}`);
  const count = element("span", "", "quiet");
  count.setAttribute("aria-live", "polite");
  const tools = element("div", undefined, "tools");
  tools.append(filter, count);
  const scroll = element("div", undefined, "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", spec.title);
  const table = element("table");
  const more = element("button", "Show more rows");
  more.type = "button";
  const heads = spec.columns.map((column) => headOf(column));
  const line = table.createTHead().insertRow();
  line.append(...heads);
  const body = table.createTBody();
  const texts = spec.rows.map((row) =>
    row.map((cell, at) => shownValue(cell, spec.columns[at].unit)).join("\n").toLowerCase());
  if (spec.rows.length > 10) host.append(tools);
  scroll.append(table);
  host.append(scroll, more);

  function show() {
    const found = spec.rows.map((_, at) => at).filter((at) => texts[at].includes(state.words));
    if (state.column >= 0) found.sort((one, other) => compared(spec.rows[one], spec.rows[other], state));
    body.replaceChildren(...found.slice(0, state.shown).map((at) => rowOf(spec, spec.rows[at])));
    count.textContent = `${rounded(found.length)} of ${rounded(spec.rows.length)} rows`;
    more.hidden = found.length <= state.shown;
  }

  heads.forEach((head, at) => head.firstChild.addEventListener("click", () => {
    state.isUp = state.column === at ? !state.isUp : !spec.columns[at].unit;
    state.column = at;
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", state.isUp ? "ascending" : "descending");
    show();
  }));
  filter.addEventListener("input", () => {
    state.words = filter.value.toLowerCase();
    state.shown = ROWS_AT_ONCE;
    show();
  });
  more.addEventListener("click", () => {
    state.shown += ROWS_AT_ONCE;
    show();
  });
  show();
}

function headOf(column) {
  const head = element("th", undefined, column.unit ? "number" : "");
  head.scope = "col";
  const button = element("button", column.title);
  button.type = "button";
  head.append(button);
  return head;
}

function rowOf(spec, cells) {
  const row = element("tr");
  cells.forEach((cell, at) => {
    const { unit } = spec.columns[at];
    row.append(element("td", cell === null ? "" : shownValue(cell, unit), unit ? "number" : ""));
  });
  return row;
}

// What is missing comes last.
function compared(one, other, { column, isUp }) {
  const [first, second] = [one[column], other[column]];
  if (first === null || second === null) return (first === null) - (second === null);
  const order = typeof first === "number" && typeof second === "number"
    ? first - second
    : String(first).localeCompare(String(second), "en", { numeric: true });
  return isUp ? order : -order;
}
