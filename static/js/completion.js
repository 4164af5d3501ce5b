// completion.js: what may be written at the cursor, from the registry (GET /api/v1/schema): keys
// with their type, default and meaning, values of a choice, components, presets. The server's check
// stays the judge; this only saves looking things up.

let asked;

const schema = (address) => (asked ??= fetch(address, { headers: { accept: "application/json" } })
  .then((answer) => (answer.ok ? answer.json() : Promise.reject(answer.status)))
  .catch(() => { asked = undefined; return null; }));

// A source for CodeMirror. address: of the schema; isPreset: the document is a preset, which writes
// extends where others write preset.
export function completions(address, { isPreset }) {
  return async (context) => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const found = read(before);
    if (!found || (!context.explicit && !found.word)) return null;
    const known = await schema(address);
    if (!known || context.aborted) return null;
    const root = isPreset ? asPreset(known.registry) : known.registry;
    const above = context.state.doc.sliceString(0, line.from).split("\n").slice(0, -1);
    const options = offered({ ...known, root }, above, found, taken(context.state.doc, line, found));
    return options.length ? { from: context.pos - found.word.length, options, validFor: /^[\w@.-]*$/ } : null;
  };
}

function asPreset({ properties: { preset, ...others }, ...registry }) {
  return { ...registry, properties: { extends: preset, ...others } };
}

// The word before the cursor: a key, a value behind "key: ", an entry behind "- " or inside [ ].
function read(before) {
  if (/(^|\s)#/.test(before)) return null;
  const flow = /^(\s*)(?:- )?([\w-]+):\s*\[(?:[^\]]*,)?\s*([\w@.-]*)$/.exec(before);
  if (flow) return { kind: "entry", indent: flow[1].length, key: flow[2], word: flow[3] };
  const value = /^(\s*)(?:- )?([\w-]+):\s+([\w@.-]*)$/.exec(before);
  if (value) return { kind: "value", indent: value[1].length, key: value[2], word: value[3] };
  const entry = /^(\s*)- ([\w@.-]*)$/.exec(before);
  if (entry) return { kind: "entry", indent: entry[1].length, word: entry[2] };
  const key = /^(\s*)([\w-]*)$/.exec(before);
  return key && { kind: "key", indent: key[1].length, word: key[2] };
}

// The keys that enclose a line, outermost first, as indentation says.
function enclosing(above, indent, isEntry) {
  const path = [];
  let limit = indent;
  for (const line of above.toReversed()) {
    const found = /^(\s*)([\w-]+):(\s*(#.*)?)$/.exec(line);
    if (!found || found[1].length > limit) continue;
    if (found[1].length === limit && !(isEntry && !path.length)) continue;
    path.unshift(found[2]);
    limit = found[1].length;
    isEntry = false;
    if (limit === 0) break;
  }
  return path;
}

function offered(known, above, found, written) {
  const path = enclosing(above, found.indent, found.kind === "entry" && !found.key);
  if (found.kind === "key") {
    return keys(known, path, written, `:\n${" ".repeat(found.indent + 2)}`);
  }
  const whole = found.key ? [...path, found.key] : path;
  if (whole.join("/") === "pipeline") return known.components.map((one) => component(one, ""));
  if (["preset", "extends"].includes(whole.join("/"))) {
    return known.presets.map((name) => ({ label: name, type: "constant", detail: "preset" }));
  }
  const key = at(known.root, whole);
  return key ? values(key.type === "array" ? key.items ?? {} : key) : [];
}

const at = (root, path) => path.reduce((block, name) => block?.properties?.[name], root);

// deeper: what follows the name of a block.
function keys(known, path, written, deeper) {
  const block = at(known.root, path);
  const isComponents = path.join("/") === "components";
  const names = Object.keys(block?.properties ?? {}).filter((name) => !written.has(name));
  if (isComponents) {
    const facts = new Map(known.components.map((one) => [one.name, one]));
    return names.map((name) => component(facts.get(name) ?? { name, summary: "" }, deeper));
  }
  return names.map((name) => {
    const key = block.properties[name];
    const apply = name + (key.properties ? deeper : ": ");
    return { label: name, apply, type: "property", detail: brief(key), info: key.description };
  });
}

function component(one, behind) {
  const lacks = one.lacks ? ` This build cannot run it: it needs ${one.lacks}.` : "";
  return {
    label: one.name, apply: one.name + behind, type: "class",
    detail: one.lacks ? "cannot run here" : one.kind, info: `${one.summary}${lacks}`,
    boost: one.lacks ? -1 : 0,
  };
}

// `integer, default 10, 1 to 24`
function brief(key) {
  const parts = [key.enum ? key.enum.join(" | ") : key.type === "object" ? "block" : key.type];
  if (key.default !== undefined && !Array.isArray(key.default)) parts.push(`default ${key.default}`);
  if (key.minimum !== undefined && key.maximum !== undefined) parts.push(`${key.minimum} to ${key.maximum}`);
  else if (key.minimum) parts.push(`at least ${key.minimum}`);
  if (key["x-unit"]) parts.push(key["x-unit"]);
  return parts.join(", ");
}

function values(key) {
  const choices = key.enum ?? (key.type === "boolean" ? [true, false] : []);
  return choices.map((value) => ({
    label: String(value), type: "constant", detail: value === key.default ? "default" : "",
  }));
}

// Names that stand beside the cursor's line in the same block.
function taken(doc, line, found) {
  const written = new Set();
  if (found.kind !== "key") return written;
  for (const step of [-1, 1]) {
    for (let number = line.number + step; number >= 1 && number <= doc.lines; number += step) {
      const beside = /^(\s*)([\w-]+):/.exec(doc.line(number).text);
      if (!beside) continue;
      if (beside[1].length < found.indent) break;
      if (beside[1].length === found.indent) written.add(beside[2]);
    }
  }
  return written;
}
