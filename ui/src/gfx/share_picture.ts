/** The shareable picture: title, one line of conditions, the labelled plot, one line of advice, where the numbers are from. */
import type { Theme } from "../base/palette.ts";
import { type Renderer, shifted } from "./renderer.ts";
import { drawTimeline, type TimelineScene } from "./timeline_scene.ts";

export const shareSize = { width: 1600, height: 1000 };
const margin = 40;
const headHeight = 92;
const footHeight = 84;

export interface ShareTexts {
  title: string;
  conditions: string;
  advice: string;
  source: string;
}

export function drawShare(renderer: Renderer, scene: TimelineScene, texts: ShareTexts): void {
  const { theme } = scene;
  renderer.text(texts.title, margin, 38, { fill: theme.ink, bold: true, size: 24 });
  renderer.text(texts.conditions, margin, 66, { fill: theme.ink2, size: 13 });
  const width = renderer.width - 2 * margin;
  const height = renderer.height - headHeight - footHeight;
  drawTimeline(shifted(renderer, margin, headHeight, width, height), {
    ...scene,
    showLabels: true,
    isStill: true,
    showGauge: scene.capacityBytes !== null,
    pinnedRow: null,
  });
  const footTop = renderer.height - footHeight + 14;
  renderer.line([margin, footTop, renderer.width - margin, footTop], { stroke: theme.line2, width: 1 });
  renderer.text(texts.advice, margin, footTop + 22, { fill: theme.ink, bold: true, size: 15 });
  renderer.text(texts.source, margin, footTop + 46, { fill: theme.ink3 });
  drawMark(renderer, theme, renderer.width - margin, footTop + 26);
}

function drawMark(renderer: Renderer, theme: Theme, right: number, y: number): void {
  renderer.text("memstrata", right, y, { fill: theme.ink, bold: true, size: 15, align: "right" });
  const x = right - renderer.measure("memstrata", { bold: true, size: 15 }) - 28;
  renderer.polygon([x + 5, y - 4, x + 10, y - 8, x + 15, y - 4], "#E8C367");
  renderer.rect(x + 3, y - 3, 14, 5, "#A2ABF4");
  renderer.rect(x + 1, y + 3, 18, 5, "#3F5CB0");
}
