// Fails when the page is larger than its budget: 150 kB, gzip, script and style together.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const budgetBytes = 150_000;
const folder = new URL("../dist/assets/", import.meta.url);
let totalBytes = 0;
for (const name of readdirSync(folder))
  totalBytes += gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length;
console.log(`bundle: ${totalBytes} of ${budgetBytes} B (gzip)`);
process.exit(totalBytes <= budgetBytes ? 0 : 1);
