// Takes screenshots of the built page over the fixture server. Usage: node dev/shot.mjs OUT WIDTHxHEIGHT THEME HASH [keys…]
import { chromium } from "playwright-core";
import { start } from "./fixture_server.mjs";

const [out, size, theme, hash, ...keys] = process.argv.slice(2);
const [width, height] = size.split("x").map(Number);
let url = process.env.BASE;
let server;
if (!url) {
  server = await start(0);
  url = `http://127.0.0.1:${server.address().port}/token/`;
}
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
page.on("console", (m) => ["error", "warning"].includes(m.type()) && console.log(m.type(), m.text()));
page.on("pageerror", (e) => console.log("pageerror", e.stack));
await page.goto(`${url}#${hash}`);
await page.waitForLoadState("networkidle");
await page.waitForTimeout(500);
for (const key of keys) {
  if (key.startsWith("click:")) {
    const [x, y] = key.slice(6).split(",").map(Number);
    await page.mouse.click(x, y);
  } else if (key.startsWith("move:")) {
    const [x, y] = key.slice(5).split(",").map(Number);
    await page.mouse.move(x, y);
  } else if (key.startsWith("text:")) await page.keyboard.type(key.slice(5));
  else if (key.startsWith("eval:")) console.log(JSON.stringify(await page.evaluate(key.slice(5))));
  else await page.keyboard.press(key);
  await page.waitForTimeout(400);
}
await page.screenshot({ path: out });
await browser.close();
server?.close();
server?.closeAllConnections();
