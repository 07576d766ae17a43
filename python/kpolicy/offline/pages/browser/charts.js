// Draws the charts of a page from options of Apache ECharts, which Python has written as JSON. What JSON cannot hold is
// added here: formats, colours of the theme, and tooltips, which are made of text nodes and never of HTML.
const COLOR_KEYS = new Set(["color", "borderColor"]);
const drawn = new Map(); // box -> {chart, spec, view}
const still = matchMedia("(prefers-reduced-motion: reduce)");

// Strings such as "@bad" under a key for colours are names of colours.
function withColors(value, key) {
  if (typeof value === "string") {
    return COLOR_KEYS.has(key) && value[0] === "@" ? colorOf(value.slice(1)) : value;
  }
  if (Array.isArray(value)) return value.map((each) => withColors(each, key));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withColors(each, name)]));
}

function theme() {
  const text = colorOf("text");
  const quiet = { color: colorOf("quiet") };
  const line = { lineStyle: { color: colorOf("line") } };
  const axis = { axisLine: line, axisTick: line, axisLabel: quiet, nameTextStyle: quiet, splitLine: line };
  return {
    color: Array.from({ length: 8 }, (_, at) => colorOf(`series-${at}`)),
    backgroundColor: "transparent",
    // ECharts writes the font into an attribute of SVG as it is.
    textStyle: { color: text, fontFamily: getComputedStyle(document.body).fontFamily.replaceAll('"', "'") },
    categoryAxis: { ...axis, splitLine: { show: false } },
    valueAxis: axis,
    timeAxis: { ...axis, splitLine: { show: false } },
    legend: {
      textStyle: { color: text },
      pageTextStyle: quiet,
      pageIconColor: text,
      pageIconInactiveColor: colorOf("line"),
    },
    visualMap: { textStyle: { color: text } },
    tooltip: { backgroundColor: colorOf("raised"), borderColor: colorOf("line"), textStyle: { color: text } },
    dataZoom: { borderColor: colorOf("line"), textStyle: quiet },
  };
}

function tipOf(spec, view, params) {
  const found = Array.isArray(params) ? params : [params];
  const tip = element("div", undefined, "tip");
  if (!found.length) return tip;
  const first = found[0];
  if (Array.isArray(params)) {
    const axis = spec.option.xAxis.type === "category" ? spec.option.yAxis : spec.option.xAxis;
    const title = first.axisType.endsWith("category") ? first.name : shownValue(first.axisValue, axis.unit);
    tip.append(element("strong", title));
    for (const each of found) {
      const value = Array.isArray(each.value) ? each.value[1] : each.value;
      if (spec.skipsZero && !value) continue;
      const line = element("div");
      const dot = element("i");
      dot.style.background = each.color;
      line.append(dot, `${each.seriesName}: ${shownValue(value, spec.option.series[each.seriesIndex].unit)}`);
      tip.append(line);
    }
    return tip;
  }
  const data = first.data || {};
  const lines = (data.tip || []).slice();
  if (data.cell) {
    const [column, row] = data.value;
    lines.push(spec.rowTips[row], `${spec.option.xAxis.data[column]}: ${data.cell}`);
  } else if (!lines.length) {
    lines.push(data.shown || first.name);
  }
  if (data.fills) {
    spec.views.forEach((name, at) => lines.push(`${name}: ${fillText(data.fills[at])}`));
    lines.push(...(data.notes || []));
    lines.splice(1, 0, ...(view ? lines.splice(1 + view, 1) : []));
  }
  lines.forEach((line, at) => tip.append(element(at ? "div" : "strong", line)));
  return tip;
}

function fillText(fill) {
  if (fill === null || fill === undefined) return "–";
  return fill < 0 ? "rejected" : shownValue(fill, "percent");
}

// Gives cells and nodes the colour of what they hold in this view.
function paint(items, view, shades) {
  for (const item of items) {
    if (item.children) {
      paint(item.children, view, shades);
      continue;
    }
    const name = shade(item.fills ? item.fills[view] : item.fill);
    shades[name] ??= { back: colorOf(name), front: colorOf(`on-${name}`) };
    item.itemStyle = { color: shades[name].back };
    item.label = { color: shades[name].front };
  }
}

function prepared(spec, view) {
  const option = withColors(spec.option, "");
  for (const axis of [option.xAxis, option.yAxis].flat()) {
    if (axis?.unit) axis.axisLabel = { ...axis.axisLabel, formatter: (value) => shownValue(value, axis.unit) };
  }
  for (const series of option.series) {
    if (series.painted) paint(series.data, view, {});
    series.label = { ...series.label, formatter: (params) => params.data?.shown ?? params.name };
  }
  const tooltip = { confine: true, formatter: (params) => tipOf(spec, view, params), ...option.tooltip };
  const aria = { enabled: true, label: { description: spec.summary } };
  return { ...option, aria, tooltip, animation: !still.matches, animationDuration: 300 };
}

function draw(box) {
  if (drawn.has(box)) return;
  const spec = PAGE.charts[box.dataset.chart];
  box.style.height = `${spec.height}px`;
  box.style.minWidth = `${spec.widthMin}px`;
  const chart = echarts.init(box, theme(), { renderer: "canvas" });
  chart.setOption(prepared(spec, 0));
  const state = { chart, spec, view: 0 };
  drawn.set(box, state);
  new ResizeObserver(() => chart.resize()).observe(box);
  walkByKeys(box, state);
}

function redraw(state) {
  state.chart.setTheme(theme());
  state.chart.setOption(prepared(state.spec, state.view));
}

// Arrow keys go from one item of the chart to the next; its tooltip is also read out.
function walkByKeys(box, state) {
  let at = -1;
  const spoken = box.closest("figure").querySelector("[aria-live]");
  box.addEventListener("keydown", (event) => {
    const series = state.chart.getModel().getSeriesByIndex(0);
    const data = series.getData();
    const steps = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: data.count() - 1 };
    if (event.key === "Escape") state.chart.dispatchAction({ type: "hideTip" });
    if (!(event.key in steps)) return;
    event.preventDefault();
    at = Math.max(0, Math.min(data.count() - 1, steps[event.key]));
    state.chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: at });
    const item = data.getRawDataItem(at) ?? {};
    const isAlongAxis = state.spec.option.tooltip?.trigger === "axis";
    const tip = isAlongAxis ? null : tipOf(state.spec, state.view, { data: item, name: data.getName(at) });
    spoken.textContent = tip ? [...tip.children].map((line) => line.textContent).join(", ") : alongAxis(state, at);
  });
}

function alongAxis(state, at) {
  return state.spec.option.series
    .map((series) => [series, series.data[at]])
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([series, value]) => `${series.name}: ${shownValue(Array.isArray(value) ? value[1] : value, series.unit)}`)
    .join(", ");
}
