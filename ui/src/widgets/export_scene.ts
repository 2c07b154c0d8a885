/** The picture that is on the screen, offered for export: every view with a plot says how to draw it. */
import { type Signal, signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useEffect } from "preact/hooks";
import { CanvasRenderer } from "../gfx/canvas_renderer.ts";
import type { Renderer } from "../gfx/renderer.ts";
import { SvgRenderer } from "../gfx/svg_renderer.ts";

export interface ExportScene {
  name: string;
  title: string;
  width: number;
  height: number;
  background: string;
  draw: (renderer: Renderer) => void;
}

export const ExportContext = createContext<Signal<ExportScene | null>>(signal(null));

/** Offers `scene` while the calling component is on the page. */
export function useExport(scene: ExportScene | null): void {
  const slot = useContext(ExportContext);
  useEffect(() => {
    slot.value = scene;
  });
  useEffect(
    () => () => {
      slot.value = null;
    },
    [],
  );
}

function canvasRenderer(scene: ExportScene, scale: number): { canvas: HTMLCanvasElement; renderer: CanvasRenderer } {
  const canvas = document.createElement("canvas");
  canvas.width = scene.width * scale;
  canvas.height = scene.height * scale;
  return { canvas, renderer: new CanvasRenderer(canvas.getContext("2d")!, scene.width, scene.height, scale) };
}

export function sceneSvg(scene: ExportScene): string {
  const { renderer } = canvasRenderer({ ...scene, width: 1, height: 1 }, 1);
  const svg = new SvgRenderer(scene.width, scene.height, (text, style) => renderer.measure(text, style));
  svg.rect(0, 0, scene.width, scene.height, scene.background);
  scene.draw(svg);
  return svg.finish(scene.title);
}

export function scenePng(scene: ExportScene): Promise<Blob> {
  const { canvas, renderer } = canvasRenderer(scene, 2);
  renderer.rect(0, 0, scene.width, scene.height, scene.background);
  scene.draw(renderer);
  return new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large for PNG."))),
      "image/png",
    ),
  );
}

export function download(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
