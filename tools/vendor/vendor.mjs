// Fills static/vendor from node_modules. Run: npm ci --ignore-scripts && node vendor.mjs
// Running it twice gives the same bytes: the lists below and the lock decide everything.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "..", "static", "vendor");

// The version is part of the file name, so that a page says which one it loads.
const wanted = [
  { package: "htmx.org", from: "dist/htmx.min.js", name: (version) => `htmx-${version}.min.js` },
  { package: "htmx.org", from: "LICENSE", name: () => "htmx.LICENSE" },
  { package: "uplot", from: "dist/uPlot.iife.min.js", name: (version) => `uPlot-${version}.iife.min.js` },
  { package: "uplot", from: "dist/uPlot.min.css", name: (version) => `uPlot-${version}.min.css` },
  { package: "uplot", from: "LICENSE", name: () => "uPlot.LICENSE" },
];
const bundled = [
  { package: "codemirror", from: "editor.mjs", name: (version) => `codemirror-${version}.min.js` },
];

const withoutSourceMap = (text) => text.replace(/\n?\/\/# sourceMappingURL=\S*\s*$/, "\n");

const rootOf = (owner) => join(here, "node_modules", owner);
const about = (owner) => JSON.parse(readFileSync(join(rootOf(owner), "package.json"), "utf8"));

const write = ({ package: owner, from, name }, bytes) => {
  const { version, license } = about(owner);
  const file = name(version);
  writeFileSync(join(target, file), bytes);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { file, package: owner, version, license, from, bytes: bytes.length, sha256 };
};

const copy = (entry) => {
  const text = readFileSync(join(rootOf(entry.package), entry.from), "utf8");
  return write(entry, Buffer.from(withoutSourceMap(text)));
};

// Every package that has a line in the bundle, with its licence: that is what goes to the reader.
const ownerOf = (input) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1];

const bundle = async (entry) => {
  const { metafile, outputFiles } = await build({
    entryPoints: [join(here, entry.from)], absWorkingDir: here,
    bundle: true, minify: true, format: "iife", globalName: "CM", target: "es2022",
    legalComments: "none", write: false, metafile: true, outdir: target,
  });
  const inside = [...new Set(Object.keys(metafile.inputs).map(ownerOf).filter(Boolean))].sort();
  const licences = inside.map((owner) => {
    const { version, license } = about(owner);
    const text = readFileSync(join(rootOf(owner), "LICENSE"), "utf8").trim();
    return `${owner} ${version} (${license})\n\n${text}\n`;
  });
  const stem = entry.package;
  return [
    { ...write(entry, Buffer.from(outputFiles[0].contents)), packages: versions(inside) },
    write(
      { ...entry, from: "LICENSE of each package", name: () => `${stem}.LICENSE` },
      Buffer.from(licences.join("\n----\n\n")),
    ),
  ];
};

const versions = (owners) => Object.fromEntries(owners.map((owner) => [owner, about(owner).version]));

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const copied = wanted.map(copy);
const built = (await Promise.all(bundled.map(bundle))).flat();
writeFileSync(join(target, "VENDOR.json"), JSON.stringify([...copied, ...built], null, 2) + "\n");
