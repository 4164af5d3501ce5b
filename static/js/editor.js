// editor.js: the document editor. It mounts over <textarea data-editor> in a shadow root, where the
// content security policy lets it bring its style sheets. The textarea stays the one that is posted
// and checked; without script it is the editor. Marks are read off the problem list, which the
// server renders: one list, three places.

import { completions } from "./completion.js";
import { keep } from "./kept.js";

const area = document.querySelector("textarea[data-editor]");
const list = () => document.getElementById("problem-list");
const SIGNS = { error: ["alarm", "E"], warning: ["watch", "W"], advice: ["info", "A"] };
const RANK = ["error", "warning", "advice"];

// ---- look: only names of tokens.css, which reach into the shadow root
const look = CM.EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--sunken)", fontSize: "var(--text-code)", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-code)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { padding: "var(--gap-2) 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 var(--gap-3) 0 var(--gap-1)" },
  ".cm-gutters": { color: "var(--muted)", backgroundColor: "var(--sunken)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "1.75rem", padding: "0 .25rem 0 0" },
  ".cm-foldGutter .cm-gutterElement": { width: ".875rem", color: "var(--muted)", cursor: "pointer" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection":
    { backgroundColor: "var(--mark)" },
  "&.cm-focused .cm-matchingBracket, .cm-matchingBracket": { backgroundColor: "var(--track)", outline: "1px solid var(--control)" },
  ".cm-selectionMatch": { backgroundColor: "var(--track)" },
  ".cm-searchMatch": { backgroundColor: "var(--watch-soft)", outline: "1px solid var(--watch)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--mark)" },
  ".cm-foldPlaceholder": { color: "var(--muted)", backgroundColor: "var(--track)", border: "none" },
  ".cm-panels": { color: "var(--ink)", backgroundColor: "var(--raised)", borderColor: "var(--line)", fontFamily: "var(--font-text)" },
  ".cm-panels.cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-panel.cm-search": { padding: "var(--gap-2) var(--gap-6) var(--gap-2) var(--gap-2)" },
  ".cm-panel.cm-search label": { fontSize: "var(--text-s)" },
  ".cm-textfield": { color: "var(--ink)", backgroundColor: "var(--raised)", border: "1px solid var(--control)", borderRadius: "var(--radius)", fontSize: "var(--text-s)", minHeight: "1.5rem" },
  ".cm-button": { color: "var(--ink)", background: "var(--raised)", border: "1px solid var(--line-strong)", borderRadius: "var(--radius)", fontSize: "var(--text-s)", minHeight: "1.5rem", cursor: "pointer" },
  ".cm-button:hover": { background: "var(--hover)" },
  ".cm-textfield:focus-visible, .cm-button:focus-visible, .cm-panel button:focus-visible, .cm-panel input:focus-visible":
    { outline: "var(--focus-width) solid var(--focus)", outlineOffset: "var(--focus-gap)" },
  ".cm-panel.cm-search [name=close]": { color: "var(--muted)", width: "1.5rem", height: "1.5rem" },
  ".cm-tooltip": { color: "var(--ink)", backgroundColor: "var(--raised)", border: "1px solid var(--line-strong)", borderRadius: "var(--radius)", boxShadow: "var(--shadow)", fontFamily: "var(--font-text)", fontSize: "var(--text-s)", maxWidth: "26rem" },
  ".cm-diagnostic": { padding: "var(--gap-1) var(--gap-2)", border: "none", whiteSpace: "normal" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--font-code)", maxHeight: "14em" },
  ".cm-completionIcon": { display: "none" },
  ".cm-completionDetail": { color: "var(--muted)", fontFamily: "var(--font-text)", fontStyle: "normal" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600" },
  ".cm-tooltip.cm-completionInfo": { padding: "var(--gap-2)", maxWidth: "20rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--ink)", backgroundColor: "var(--selected)" },
  ".cm-lintRange": { backgroundImage: "none", textDecoration: "underline wavy 1px", textUnderlineOffset: ".22em" },
  ".cm-lintRange-error": { textDecorationColor: "var(--alarm)" },
  ".cm-lintRange-warning, .cm-lintRange-info": { textDecorationColor: "var(--watch)" },
  ".cm-lintRange-active": { backgroundColor: "var(--selected)" },
  ".cm-lintPoint": { display: "none" },
  ".cm-problems": { minWidth: "2.25rem" },
  ".cm-problems .cm-gutterElement": { display: "flex", alignItems: "center", justifyContent: "center", width: "2.25rem" },
  ".sign": { display: "inline-flex", alignItems: "center", gap: ".125rem", padding: "0", border: "none", background: "none", font: "600 var(--text-xs)/1 var(--font-text)", cursor: "pointer" },
  ".sign svg": { width: ".8125rem", height: ".8125rem", fill: "none", stroke: "currentColor", strokeWidth: "1.5", strokeLinecap: "round", strokeLinejoin: "round" },
  ".sign.error, .said.error": { color: "var(--alarm)" },
  ".sign.warning, .sign.advice, .said.warning": { color: "var(--watch)" },
  ".said": { paddingInlineStart: "2rem", fontFamily: "var(--font-text)", fontSize: "var(--text-s)", whiteSpace: "nowrap" },
  ".line-error": { backgroundColor: "var(--alarm-soft)" },
  ".line-warning": { backgroundColor: "var(--watch-soft)" },
});

const colours = CM.HighlightStyle.define([
  { tag: [CM.tags.definition(CM.tags.propertyName), CM.tags.propertyName], color: "var(--code-key)" },
  { tag: [CM.tags.content, CM.tags.string, CM.tags.attributeValue, CM.tags.literal], color: "var(--code-value)" },
  { tag: CM.tags.comment, color: "var(--code-note)" },
  { tag: [CM.tags.separator, CM.tags.punctuation, CM.tags.meta, CM.tags.typeName], color: "var(--muted)" },
]);

// ---- problems: where they stand, as the server counted them in UTF-16 units
const told = CM.StateEffect.define();

function problems(length) {
  const rows = list()?.querySelectorAll("[data-from]") ?? [];
  return [...rows].map((row) => ({
    from: Math.min(Number(row.dataset.from), length),
    to: Math.min(Number(row.dataset.to), length),
    level: row.dataset.level,
    message: row.querySelector("[data-message]").textContent,
    row: row.id,
  }));
}

class Sign extends CM.GutterMarker {
  constructor(problem) {
    super();
    this.problem = problem;
  }

  eq(other) {
    return other.problem.level === this.problem.level && other.problem.row === this.problem.row;
  }

  toDOM(view) {
    const [shape, letter] = SIGNS[this.problem.level];
    const button = document.createElement("button");
    button.type = "button";
    button.tabIndex = -1;
    button.className = `sign ${this.problem.level}`;
    const line = view.state.doc.lineAt(Math.min(this.problem.from, view.state.doc.length)).number;
    button.setAttribute("aria-label", `Line ${line}: ${this.problem.level}, ${this.problem.message}`);
    button.title = this.problem.message;
    button.append(drawn(shape), letter);
    button.addEventListener("click", () => reveal(this.problem.row));
    return button;
  }
}

function drawn(shape) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", `${area.dataset.icons}#${shape}`);
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
}

class Said extends CM.WidgetType {
  constructor(problem) {
    super();
    this.problem = problem;
  }

  eq(other) {
    return other.problem.message === this.problem.message;
  }

  toDOM() {
    const span = document.createElement("span");
    span.className = `said ${this.problem.level}`;
    span.setAttribute("aria-hidden", "true");
    span.textContent = this.problem.message;
    return span;
  }
}

// The gravest problem of each line: it gives the line its ground and its sentence.
function gravest(doc, found) {
  const lines = new Map();
  for (const problem of found) {
    const at = doc.lineAt(problem.from).from;
    const other = lines.get(at);
    if (!other || RANK.indexOf(problem.level) < RANK.indexOf(other.level)) lines.set(at, problem);
  }
  return [...lines].sort(([left], [right]) => left - right);
}

const marked = CM.StateField.define({
  create: () => ({ signs: CM.RangeSet.empty, lines: CM.Decoration.none }),
  update(value, transaction) {
    const news = transaction.effects.find((effect) => effect.is(told));
    if (news) return drawnMarks(transaction.state.doc, news.value);
    if (!transaction.docChanged) return value;
    return { signs: value.signs.map(transaction.changes), lines: value.lines.map(transaction.changes) };
  },
  provide: (field) => CM.EditorView.decorations.from(field, (value) => value.lines),
});

function drawnMarks(doc, found) {
  const rows = gravest(doc, found);
  const signs = rows.map(([at, problem]) => new Sign(problem).range(at));
  const lines = rows.flatMap(([at, problem]) => {
    if (problem.level === "advice") return [];
    const said = CM.Decoration.widget({ widget: new Said(problem), side: 1 });
    return [
      CM.Decoration.line({ class: `line-${problem.level}` }).range(at),
      said.range(doc.lineAt(at).to),
    ];
  });
  return { signs: CM.RangeSet.of(signs), lines: CM.Decoration.set(lines, true) };
}

const signs = CM.gutter({
  class: "cm-problems",
  markers: (view) => view.state.field(marked).signs,
});

function reveal(id) {
  const row = document.getElementById(id);
  if (!row) return;
  row.closest("details")?.setAttribute("open", "");
  row.scrollIntoView({ block: "nearest" });
  row.focus();
}

// ---- the view over the textarea
function mount() {
  const host = document.createElement("div");
  host.className = area.classList.contains("after") ? "editor after" : "editor";
  const root = host.attachShadow({ mode: "open" });
  area.before(host);
  const label = document.querySelector(`label[for="${area.id}"]`).textContent;
  const view = new CM.EditorView({ doc: area.value, parent: root, root, extensions: extensions(label) });
  area.hidden = true;
  return view;
}

const reading = new CM.Compartment();

function extensions(label) {
  return [
    signs, marked, CM.basicSetup, CM.yaml(), CM.syntaxHighlighting(colours), look,
    CM.EditorView.contentAttributes.of({ "aria-label": label, "aria-multiline": "true", tabindex: "0", spellcheck: "false" }),
    CM.EditorView.updateListener.of(changed),
    offers(),
    reading.of(CM.EditorState.readOnly.of(area.readOnly)),
    CM.Prec.high(CM.keymap.of([
      { key: "F8", run: CM.nextDiagnostic, shift: CM.previousDiagnostic },
      CM.indentWithTab,
    ])),
    // Escape gives Tab back to the page, for as long as the editor keeps the focus.
    CM.Prec.highest(CM.keymap.of([
      { key: "Escape", run: (view) => { view.setTabFocusMode(true); return false; } },
    ])),
    CM.EditorView.domEventHandlers({
      blur: (_event, view) => { view.setTabFocusMode(false); },
      beforeinput: typedOver,
    }),
  ];
}

function offers() {
  if (area.readOnly || !area.dataset.schema) return [];
  const source = completions(area.dataset.schema, { isPreset: "preset" in area.dataset });
  return CM.EditorState.languageData.of(() => [{ autocomplete: source }]);
}

// Left to itself, the browser keeps the look of what is typed over in a style attribute, which the
// content security policy forbids.
function typedOver(event, view) {
  const { from, to, empty } = view.state.selection.main;
  const isPlain = event.inputType === "insertText" && event.data !== null && !view.composing;
  if (empty || !isPlain) return false;
  event.preventDefault();
  const insert = () => view.state.update(
    view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  const handlers = view.state.facet(CM.EditorView.inputHandler);
  if (!handlers.some((handle) => handle(view, from, to, event.data, insert))) view.dispatch(insert());
  return true;
}

function changed(update) {
  if (!update.docChanged) return;
  area.value = update.state.doc.toString();
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

function mark(view) {
  const found = problems(view.state.doc.length);
  const levels = { error: "error", warning: "warning", advice: "info" };
  view.dispatch({ effects: told.of(found) });
  view.dispatch(CM.setDiagnostics(view.state, found.map(({ from, to, level, message }) => (
    { from, to: Math.max(from, to), severity: levels[level], message }))));
  const save = document.getElementById("save");
  if (save && list()) save.disabled = Number(list().dataset.errors) > 0;
}

// One change, as small as possible, so that the cursor stays and one undo takes it back.
function replace(view, text) {
  const old = view.state.doc.toString();
  let from = 0;
  while (from < old.length && from < text.length && old[from] === text[from]) from += 1;
  let left = old.length, right = text.length;
  while (left > from && right > from && old[left - 1] === text[right - 1]) { left -= 1; right -= 1; }
  view.dispatch({
    changes: { from, to: left, insert: text.slice(from, right) },
    selection: { anchor: from }, scrollIntoView: true, userEvent: "input.fix",
  });
}

// ---- fixes: the same form post as without script; only the text is taken from the answer
async function fix(view, button) {
  const body = new FormData(area.form, button);
  const answer = await fetch(button.formAction, { method: "POST", body });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fixed = page.getElementById(area.id);
  if (!fixed) { button.form.submit(); return; }
  replace(view, fixed.value);
  const box = document.getElementById("said-box"), news = page.getElementById("said-box");
  box.className = news.className;
  box.querySelector("svg").replaceWith(document.adoptNode(news.querySelector("svg")));
  box.hidden = false;
  document.getElementById("said").textContent = page.getElementById("said").textContent;
  view.focus();
}

// ---- what a problem means, beside the text that has it
async function explain(link) {
  const drawer = document.getElementById("explain");
  const answer = await fetch(link.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = page.getElementById("explained");
  if (!drawer || !found) { location.assign(link.href); return; }
  document.getElementById("explain-body").replaceChildren(document.adoptNode(found));
  drawer.showModal();
}

function go(view, row) {
  const at = Number(row.dataset.from);
  view.focus();
  view.dispatch({ selection: { anchor: Math.min(at, view.state.doc.length) }, scrollIntoView: true });
}

function listen(view) {
  let wasOpen = false;
  document.addEventListener("htmx:beforeSwap", () => {
    wasOpen = list()?.querySelector("details[open]") != null;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "problem-list") return;
    if (wasOpen) list().querySelectorAll("details").forEach((one) => one.setAttribute("open", ""));
    mark(view);
  });
  document.addEventListener("htmx:oobAfterSwap", () => {
    for (const time of document.querySelectorAll("#save-why time")) {
      time.textContent = new Date(time.dateTime).toLocaleTimeString("en-GB");
    }
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[name=fix]");
    const place = event.target.closest("[data-from] a[data-place]");
    const unclear = event.target.closest("a[data-explain]");
    if (unclear && !event.ctrlKey && !event.metaKey) { event.preventDefault(); explain(unclear); }
    if (button) { event.preventDefault(); fix(view, button); }
    if (place) { event.preventDefault(); go(view, place.closest("[data-from]")); }
  });
  document.addEventListener("keydown", (event) => {
    const inside = event.composedPath().includes(view.dom);
    if (event.key === "F8" && !inside) {
      event.preventDefault();
      view.focus();
      (event.shiftKey ? CM.previousDiagnostic : CM.nextDiagnostic)(view);
    }
    if (event.key === "s" && (event.ctrlKey || event.metaKey) && !event.altKey) {
      event.preventDefault();
      const save = document.getElementById("save");
      if (save && !save.disabled) area.form.requestSubmit(save);
    }
  });
}

if (area) {
  if (area.form) keep(area);
  const view = mount();
  listen(view);
  mark(view);
  // Once htmx listens, which is when the page is ready.
  window.addEventListener("load", () => {
    if ("unsent" in area.dataset) area.dispatchEvent(new Event("input", { bubbles: true }));
  });
}
