// Saves a chart as a picture: PNG at twice its size, or SVG.
function fileName(spec, ending) {
  const words = `${document.title} ${spec.title}`.toLowerCase().match(/[a-z0-9]+/g) || ["chart"];
  return `${words.join("-").slice(0, 80)}.${ending}`;
}

function save(blob, name) {
  const link = element("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Characters that no XML may hold.
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

function savePng({ chart, spec }) {
  const canvas = chart.renderToCanvas({ pixelRatio: 2, backgroundColor: colorOf("surface") });
  canvas.toBlob((blob) => save(blob, fileName(spec, "png")));
}

function saveSvg({ chart, spec, view }) {
  const size = { width: chart.getWidth(), height: chart.getHeight() };
  const copy = echarts.init(null, theme(), { renderer: "svg", ssr: true, ...size });
  const shown = (chart.getOption().dataZoom || []).map(({ start, end }) => ({ start, end }));
  copy.setOption({ ...prepared(spec, view), backgroundColor: colorOf("surface"), animation: false });
  if (shown.length) copy.setOption({ dataZoom: shown });
  const drawing = copy.renderToSVGString().replace(NOT_XML, "");
  save(new Blob([drawing], { type: "image/svg+xml" }), fileName(spec, "svg"));
  copy.dispose();
}

const SAVERS = { png: savePng, svg: saveSvg };
