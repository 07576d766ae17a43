// The charts and components that kpolicy's pages use, and nothing else: esbuild leaves out the rest of Apache ECharts.
// A page finds them as `echarts`.
import * as core from "echarts/core";
import { BarChart, HeatmapChart, LineChart, SankeyChart, TreemapChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomSliderComponent,
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
  VisualMapPiecewiseComponent,
} from "echarts/components";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";

core.use([
  BarChart,
  HeatmapChart,
  LineChart,
  SankeyChart,
  TreemapChart,
  AriaComponent,
  DataZoomSliderComponent,
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
  VisualMapPiecewiseComponent,
  CanvasRenderer,
  SVGRenderer,
]);

export const { init, version, registerTheme } = core;
