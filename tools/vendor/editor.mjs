// What static/js/editor.js builds the document editor from, and nothing else of the packages.
export { indentWithTab } from "@codemirror/commands";
export { yaml } from "@codemirror/lang-yaml";
export { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
export { lintGutter, nextDiagnostic, previousDiagnostic, setDiagnostics } from "@codemirror/lint";
export { MergeView, unifiedMergeView } from "@codemirror/merge";
export { openSearchPanel } from "@codemirror/search";
export { Compartment, EditorState, Prec, RangeSet, StateEffect, StateField } from "@codemirror/state";
export {
  Decoration, EditorView, GutterMarker, WidgetType, gutter, keymap, lineNumbers,
} from "@codemirror/view";
export { basicSetup } from "codemirror";
export { tags } from "@lezer/highlight";
