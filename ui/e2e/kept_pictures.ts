/**
 * Pictures of the page that the repository keeps, and how far a new one is from them. Letters and their edges differ a little from machine
 * to machine; a band, a row or a panel that is gone or moved does not. So both are made small, which blurs letters, and what counts is the
 * share of pixels that are clearly another: a change of a small part is not lost in the mean of the whole.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** Width that pictures are made small to, in pixels. */
const smallWidth = 256;
/** Brightness of a colour, 0 to 255, by which a pixel is clearly another. */
const clearDifference = 28;
/** Of all pixels. Other fonts move the letters of a whole page by less than this. */
export const mostChanged = 0.02;

const updates = process.env.MEMSTRATA_UPDATE_PICTURES === "1";

function dataUrl(png: Buffer): string {
  return `data:image/png;base64,${png.toString("base64")}`;
}

/** The picture in `smallWidth` pixels of width, as PNG; the browser scales it. */
export async function makeSmall(blank: Page, png: Buffer): Promise<Buffer> {
  const base64 = await blank.evaluate(
    async ({ url, width }) => {
      const image = new Image();
      image.src = url;
      await image.decode();
      const canvas = document.createElement("canvas");
      canvas.width = width;
      canvas.height = Math.round((image.height / image.width) * width);
      const context = canvas.getContext("2d")!;
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      return canvas.toDataURL("image/png").split(",")[1]!;
    },
    { url: dataUrl(png), width: smallWidth },
  );
  return Buffer.from(base64, "base64");
}

/** Share of the pixels of two small pictures that are clearly different; 1 when their sizes are. */
export function changedShare(blank: Page, before: Buffer, after: Buffer): Promise<number> {
  return blank.evaluate(
    async ({ urls, threshold }) => {
      const [a, b] = (await Promise.all(
        urls.map(async (url) => {
          const image = new Image();
          image.src = url;
          await image.decode();
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = canvas.getContext("2d")!;
          context.drawImage(image, 0, 0);
          return context.getImageData(0, 0, image.width, image.height).data;
        }),
      )) as [Uint8ClampedArray, Uint8ClampedArray];
      if (a.length !== b.length) return 1;
      let changed = 0;
      for (let i = 0; i < a.length; i += 4) {
        const apart = Math.max(...[0, 1, 2].map((channel) => Math.abs(a[i + channel]! - b[i + channel]!)));
        if (apart > threshold) changed += 1;
      }
      return changed / (a.length / 4);
    },
    { urls: [dataUrl(before), dataUrl(after)], threshold: clearDifference },
  );
}

/** Compares what is seen with the picture at `path`, or writes it, `small` or whole, when pictures are taken again. */
export async function expectKept(blank: Page, png: Buffer, path: string, keeps: "small" | "whole"): Promise<void> {
  const now = await makeSmall(blank, png);
  if (updates) writeFileSync(path, keeps === "small" ? now : png);
  expect(existsSync(path), `${path} is missing: npm run pictures`).toBe(true);
  const kept = readFileSync(path);
  const share = await changedShare(blank, keeps === "small" ? kept : await makeSmall(blank, kept), now);
  expect(share, `${path} does not look like the page any more; look at both, then npm run pictures`).toBeLessThan(
    mostChanged,
  );
}
