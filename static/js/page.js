// page.js: the few things that markup alone cannot do. Every page works without it: menus are
// <details>, the navigation is a popover, forms are posted, figures are complete when they arrive.

const popovers = "details.menu[open], details.about[open]";

document.addEventListener("click", (event) => {
  for (const open of document.querySelectorAll(popovers)) {
    if (!open.contains(event.target)) open.open = false;
  }
  const copier = event.target.closest("[data-copy]");
  if (copier) copy(copier);
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const open of document.querySelectorAll(popovers)) {
    open.open = false;
    open.querySelector("summary").focus();
  }
});

// ---- copying: the button is hidden until there is something that can copy
for (const copier of document.querySelectorAll("[data-copy]")) {
  copier.hidden = !navigator.clipboard;
}

async function copy(copier) {
  await navigator.clipboard.writeText(document.getElementById(copier.dataset.copy).textContent);
  const word = copier.lastChild;
  word.textContent = "Copied";
  setTimeout(() => { word.textContent = "Copy"; }, 2000);
}

// ---- figures that refresh: a hidden page asks for nothing, and asks at once when it is shown again
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden) event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  const polled = document.querySelector("[hx-trigger*='again']");
  if (!document.hidden && polled) htmx.trigger(polled, "again");
});

// What holds the focus, an open note or a selection is not replaced under the reader's hand.
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  if (isInUse(event.detail.target)) event.detail.shouldSwap = false;
});

export function isInUse(node) {
  const selection = document.getSelection();
  const isSelected = selection && !selection.isCollapsed && selection.containsNode(node, true);
  return node.contains(document.activeElement) || node.querySelector(popovers) || isSelected;
}

// ---- times are served in UTC and read in the reader's zone; UTC stays in the tooltip
const moment = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
const second = { hour: "2-digit", minute: "2-digit", second: "2-digit" };

function localise(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const format = "clock" in time.dataset ? second : moment;
    time.textContent = new Date(time.dateTime).toLocaleString("en-GB", format);
  }
}
localise(document);
document.addEventListener("htmx:load", (event) => localise(event.detail.elt));
document.addEventListener("renewed", () => localise(document));
