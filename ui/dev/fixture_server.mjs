// Serves ui/dist and the web API over the synthetic run, so that the page can be looked at without the engine.
// Usage: node dev/fixture_server.mjs [PORT]
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { answer } from "./answers.mjs";

const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const types = { html: "text/html", js: "text/javascript", css: "text/css" };
const policy =
  "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";

export function start(port) {
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://127.0.0.1");
    const path = url.pathname.replace(/^\/token\//, "");
    response.setHeader("Content-Security-Policy", policy);
    if (path.startsWith("api/v1/")) {
      const result = answer(path.slice(7), Object.fromEntries(url.searchParams));
      response.statusCode = result.status ?? 200;
      response.setHeader("Content-Type", result.frame ? "application/vnd.memstrata.frame" : "application/json");
      return response.end(result.frame ?? JSON.stringify(result.json));
    }
    const file = dist + (path === "" ? "index.html" : path);
    if (!/^[a-z/]*\.?[a-z]*$/.test(path) || !existsSync(file)) return response.writeHead(404).end();
    response.setHeader("Content-Type", types[file.split(".").at(-1)] ?? "text/plain");
    createReadStream(file).pipe(response);
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await start(Number(process.argv[2] ?? 0));
  console.log(`http://127.0.0.1:${server.address().port}/token/`);
}
