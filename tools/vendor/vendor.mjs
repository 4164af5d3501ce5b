// Fills static/vendor from node_modules. Run: npm ci --ignore-scripts && node vendor.mjs
// Running it twice gives the same bytes: the list below and the lock decide everything.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "..", "static", "vendor");

// The version is part of the file name, so that a page says which one it loads.
const wanted = [
  { package: "htmx.org", from: "dist/htmx.min.js", name: (version) => `htmx-${version}.min.js` },
  { package: "htmx.org", from: "LICENSE", name: () => "htmx.LICENSE" },
];

const withoutSourceMap = (text) => text.replace(/\n?\/\/# sourceMappingURL=\S*\s*$/, "\n");

const vendor = ({ package: owner, from, name }) => {
  const root = join(here, "node_modules", owner);
  const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const bytes = Buffer.from(withoutSourceMap(readFileSync(join(root, from), "utf8")));
  const file = name(version);
  writeFileSync(join(target, file), bytes);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { file, package: owner, version, license, from, bytes: bytes.length, sha256 };
};

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const copied = wanted.map(vendor);
writeFileSync(join(target, "VENDOR.json"), JSON.stringify(copied, null, 2) + "\n");
