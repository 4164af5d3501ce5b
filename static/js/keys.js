// keys.js: single keys for whoever does not want to reach for the mouse. An element says which key
// it answers to; nothing else knows the keys, and the list under "?" is made of what is on the page.
//
//   <a data-keys="g o" href="/">Overview</a>   <input data-keys="/">   <summary data-keys="r">
//
// A link or button is followed, an input gets the focus. Never while typing, never with Ctrl, Alt or
// Meta, and not at all where somebody switched it off in that list (kept in this browser).

const OFF = "keys-off";
const LEADER_MS = 1500;
const help = document.getElementById("keys-help");
const toggle = help?.querySelector("input");
let leader = "", since = 0;

const isOff = () => localStorage.getItem(OFF) === "1";

function isTyping(event) {
  const at = event.composedPath()[0];
  return at instanceof Element && (at.isContentEditable || at.matches("input:not([type=checkbox], [type=radio]), textarea, select, .plot"));
}

function seen(element) {
  return element.checkVisibility?.() !== false || Boolean(element.closest("#nav"));
}

function find(keys) {
  return [...document.querySelectorAll(`[data-keys="${CSS.escape(keys)}"]`)].find(seen);
}

function use(element) {
  const field = element.matches("summary") && element.parentElement.querySelector("textarea, input:not([type=hidden]), select");
  if (field) { element.parentElement.open = true; field.focus(); } else if (element.matches("input, textarea, select")) element.focus();
  else element.click();
}

// ---- rows of a list: j and k move through their links, Enter follows the one in focus

function step(by) {
  const rows = [...document.querySelectorAll("main tbody th a")].filter(seen);
  if (!rows.length) return false;
  const at = rows.indexOf(document.activeElement);
  rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by))].focus();
  return true;
}

const search = () => document.querySelector("form[role=search] input:not([type=hidden])");

function jump(number) {
  const heading = [...document.querySelectorAll("main section h2")].filter(seen)[number - 1];
  if (!heading) return false;
  heading.tabIndex = -1;
  heading.focus();
  heading.scrollIntoView({ block: "start" });
  return true;
}

function answer(key) {
  const led = leader && performance.now() - since < LEADER_MS ? `${leader} ${key}` : key;
  leader = "";
  const element = find(led);
  if (element) { use(element); return true; }
  if (led !== key) return false;
  if (key === "g") { leader = "g"; since = performance.now(); return true; }
  if (key === "/") { search()?.focus(); return Boolean(search()); }
  if (key === "j" || key === "k") return step(key === "j" ? 1 : -1);
  return /^[1-9]$/.test(key) && jump(Number(key));
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || isTyping(event)) return;
  if (help?.open || (isOff() && event.key !== "?")) return;
  if (event.key === "?" ? open() : answer(event.key)) event.preventDefault();
});

// ---- the list

const ALWAYS = [["/", "", "search, where there is one"], ["j", "k", "next and previous row"], ["Enter", "", "open it"], ["1–9", "", "to a section of the page"], ["Esc", "", "close what is open"], ["?", "", "this list"]];

function line(keys, words) {
  const term = document.createElement("dt"), said = document.createElement("dd");
  for (const key of keys.filter(Boolean)) {
    const cap = document.createElement("kbd");
    cap.textContent = key;
    term.append(cap, " ");
  }
  said.textContent = words;
  return [term, said];
}

function named(element) {
  const label = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;
  return label.replace(/\s+/g, " ").trim();
}

function open() {
  if (!help) return false;
  const list = help.querySelector("dl");
  const found = [...document.querySelectorAll("[data-keys]")].filter(seen);
  list.replaceChildren(
    ...found.flatMap((element) => line(element.dataset.keys.split(" "), named(element))),
    ...ALWAYS.flatMap(([one, other, words]) => line([one, other], words)),
  );
  toggle.checked = !isOff();
  help.showModal();
  return true;
}

help?.querySelector("button").addEventListener("click", () => help.close());
toggle?.addEventListener("change", () => {
  if (toggle.checked) localStorage.removeItem(OFF);
  else localStorage.setItem(OFF, "1");
});
for (const button of document.querySelectorAll("[data-opens-keys]")) {
  button.hidden = false;
  button.addEventListener("click", open);
}
