// live.js: keeps the figures of an open page current from one stream of numbers.
//
// A list with a [data-newer] line says there how many rows would be new; it does not move.
//
//   <span class="live" id="live" data-stream="/live/stream?topics=…" data-cursor="81234">Live</span>
//
// Alarms are in the frame of every page, so that every page reads their topic; one without a word
// that says Live may name others on its body: <body data-stream="/live/stream" data-topics="node">.
//
// The page is complete before the stream opens, at the cursor that was read before its figures.
// A message writes texts into leaf nodes by id, or replaces one bucket of a chart. A region with
// data-reread is read anew from the page's own address when numbers are not enough: after a gap,
// when the tab is shown again, and every few seconds where there is no stream to be had;
// data-reread="gap" only where something may have been missed.
// Without EventSource, or when the server has no room, an element with hx-trigger="… again" polls.

import { isInUse } from "./page.js";

const live = document.getElementById("live");
const LONGEST_WAIT_MS = 30_000, FIRST_WAIT_MS = 500;
const SILENCE_MS = 45_000;      // two beats of the server and a little
const REREAD_MS = 5_000;        // figures that are not in a message are this old at most

const ALARM = "alarm";
const address = new URL(live?.dataset.stream ?? document.body.dataset.stream, location.href);
// What the page itself shows: a message of another topic is no reason to read it anew.
const shown = new Set((address.searchParams.get("topics") ?? document.body.dataset.topics ?? "").split(",").filter(Boolean));
const tenant = document.body.dataset.tenant;
address.searchParams.set("topics", [...new Set([...shown, ALARM])].join(","));
if (tenant) address.searchParams.set("tenant", tenant);

let source = null;              // the EventSource that is open or opening
let cursor = live?.dataset.cursor ?? "";
let wait = FIRST_WAIT_MS, timer = 0, silence = 0;
let isLive = false, isHeld = false;   // held: paused by the reader
const opens = Boolean(window.EventSource);

// ---- the indicator: a word beside the dot, never the dot alone

const clock = () => new Date().toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

function say(state, words) {
  isLive = state === "live";
  if (!live || (live.dataset.state === state && state !== "reconnecting")) return;
  live.dataset.state = state;
  live.textContent = words;
}

// ---- the stream

function connect() {
  clearTimeout(timer);
  source?.close();
  if (cursor !== "") address.searchParams.set("cursor", cursor);
  source = new EventSource(address);
  for (const kind of ["hello", "tiles", "bucket", "changed", "resync", "bye", "beat"]) {
    source.addEventListener(kind, (event) => heard(kind, event));
  }
  source.addEventListener("error", lost);
}

function heard(kind, event) {
  clearTimeout(silence);
  silence = setTimeout(lost, SILENCE_MS);
  const wasUnplaced = cursor === "";   // what came since the page was read is not known
  if (event.lastEventId) cursor = event.lastEventId;
  const said = JSON.parse(event.data);
  if (kind === "hello") { wait = FIRST_WAIT_MS; say("live", "Live"); learn(said.release); ring(); if (wasUnplaced && shown.size) rereadSoon(); if (said.seq < Number(cursor)) cursor = String(said.seq); }
  if (kind === "tiles") later(() => write(said.data));
  if (kind === "bucket") later(() => draw(said));
  if (kind === "changed" && said.topic === ALARM) ring();
  if (kind === "changed" && shown.has(said.topic)) rereadSoon();
  if (kind === "resync") { cursor = String(said.seq); isMissing = true; reread(); }
  if (kind === "bye") { if (said.reason === "signed_out") location.reload(); else lost(); }
}

/** The browser's own reconnection would forget the cursor after an answer that is an error. */
function lost() {
  clearTimeout(silence);
  source?.close();
  source = null;
  if (document.hidden || isHeld) return;
  if (navigator.onLine === false || wait >= LONGEST_WAIT_MS) say("offline", `Offline since ${clock()}`);
  else if (live?.dataset.state !== "offline") say("reconnecting", `Reconnecting (${Math.ceil(wait / 1000)} s)`);
  clearTimeout(timer);
  timer = setTimeout(connect, wait * (0.75 + Math.random() / 2));
  wait = Math.min(LONGEST_WAIT_MS, wait * 2);
  isMissing = true;
}

/** The frame's own: the count of open alarms and the lines of those that are critical. */
function ring() {
  htmx.trigger("#bell-poll", "told");
}

// ---- a page that outlived its release: it says so and stays, for there may be a draft on it

function learn(release) {
  const notice = document.getElementById("other-release");
  if (!release || release === document.body.dataset.release || notice.querySelector(".banner")) return;
  notice.append(notice.querySelector("template").content.cloneNode(true));
  notice.querySelector("button").addEventListener("click", () => location.reload());
}

// A page without a stream hears of it from what it polls.
document.addEventListener("htmx:afterRequest", (event) => learn(event.detail.xhr.getResponseHeader("headrace-release")));

// ---- what a message changes; a frame of the screen takes all of them together

const changes = [];

function later(change) {
  changes.push(change);
  if (changes.length === 1) requestAnimationFrame(() => { for (const apply of changes.splice(0)) apply(); });
}

/** {id: [text, unit, isWord]}, or {id: text}. */
function write(leaves) {
  for (const [id, said] of Object.entries(leaves)) {
    const leaf = document.getElementById(id);
    if (!leaf) {
      if (id.startsWith("gate-")) rereadSoon();   // a row that was not there when the page was read
      continue;
    }
    const [text, unit, isWord] = Array.isArray(said) ? said : [said, "", false];
    if (leaf.dataset.said === `${text} ${unit}`) continue;
    leaf.dataset.said = `${text} ${unit}`;
    leaf.classList.toggle("word", isWord);
    leaf.replaceChildren(text);
    if (unit) {
      const part = document.createElement("span");
      part.className = "unit";
      part.textContent = `\u00a0${unit}`;
      leaf.append(part);
    }
  }
}

/** data: {at: seconds, of: {"candidates": {gate: n}, "requests": {gate: n}, "events": {event: n}}}. */
function draw({ topic, data }) {
  for (const figure of document.querySelectorAll("figure.chart[data-topic]")) {
    const values = figure.dataset.topic === topic && data.of[figure.dataset.series];
    if (values) figure.dispatchEvent(new CustomEvent("bucket", { detail: { at: data.at, values } }));
  }
}

// ---- reading the page anew

let isReading = false, isMissing = false, readAt = -REREAD_MS, soon = 0;

function rereadSoon() {
  if (soon) return;
  const due = Math.max(0, readAt + REREAD_MS - performance.now());
  soon = setTimeout(() => { soon = 0; reread(); }, due);
}

async function reread() {
  if (isReading || document.hidden || isHeld) return;
  isReading = true;
  readAt = performance.now();
  try {
    const polled = document.querySelector("[hx-trigger*='again']");
    if (polled) htmx.trigger(polled, "again");
    else if (document.querySelector("[data-reread], [data-newer]")) await renew();
    if (!opens) say("live", "Live");
  } catch {
    if (!source) say("offline", `Offline since ${clock()}`);
  } finally {
    isReading = false;
  }
}

async function renew() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (answer.redirected) { location.reload(); return; }
  if (!answer.ok) throw new Error(answer.statusText);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const wanted = isMissing ? "[data-reread]" : '[data-reread=""]';
  isMissing = false;
  for (const region of document.querySelectorAll(wanted)) {
    const found = fresh.getElementById(region.id);
    if (found && !isInUse(region)) region.replaceChildren(...found.childNodes);
  }
  document.dispatchEvent(new CustomEvent("renewed"));
  for (const figure of document.querySelectorAll("figure.chart")) figure.dispatchEvent(new CustomEvent("reread"));
  const pill = document.querySelector("[data-newer]");
  if (pill) tellNewer(pill, fresh);
}

/** A list does not move under the reader: how many of its rows would be new is said above it. */
function tellNewer(pill, fresh) {
  const rows = (page) => [...page.querySelectorAll("main tbody th")].map((head) => head.querySelector("a")?.getAttribute("href") ?? head.textContent);
  const known = new Set(rows(document)), found = rows(fresh);
  const unknown = found.filter((row) => !known.has(row)).length;
  pill.hidden = !unknown;
  pill.querySelector("b").textContent = unknown && known.size && unknown === found.length ? `${unknown} or more` : String(unknown);
}

// ---- polling, where there is no stream: a request by the clock has no event behind it

const isPolled = (element) => element.matches("[hx-trigger*='again']");
const isTold = (element) => isPolled(element) || element.matches("[hx-trigger*='told']");

document.addEventListener("htmx:beforeRequest", (event) => {
  const isByClock = !event.detail.requestConfig.triggeringEvent;
  if (isHeld && isPolled(event.detail.elt)) event.preventDefault();
  else if (isByClock && isTold(event.detail.elt) && source && isLive) event.preventDefault();
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (!isPolled(event.detail.elt) || (source && isLive)) return;
  if (!event.detail.successful) say("offline", `Offline since ${clock()}`);
  else if (!opens) say("live", "Live");
});

// ---- a hidden tab asks for nothing and costs nothing; shown again it reads a snapshot first

function rest() {
  clearTimeout(timer); clearTimeout(silence);
  source?.close();
  source = null;
  say("paused", "Paused");
}

document.addEventListener("visibilitychange", () => {
  if (isHeld) return;
  if (document.hidden) rest();
  else {
    isMissing = true;
    if (!document.querySelector("[hx-trigger*='again']")) reread();   // page.js does it for what is polled
    if (opens) connect();
  }
});

// ---- so may whoever reads: nothing moves until they let it

const hold = document.getElementById("hold");
if (hold && opens) {
  hold.hidden = false;
  hold.addEventListener("click", () => {
    isHeld = !isHeld;
    hold.setAttribute("aria-pressed", String(isHeld));
    if (isHeld) rest();
    else { isMissing = true; reread(); connect(); }
  });
}
addEventListener("offline", () => { if (opens) { wait = FIRST_WAIT_MS; lost(); } });
addEventListener("online", () => { if (opens) { wait = FIRST_WAIT_MS; isMissing = true; reread(); connect(); } });
addEventListener("pagehide", () => source?.close());

if (opens && !document.hidden) connect();
else if (!opens && document.querySelector("[data-reread]")) {
  say("live", "Live");
  setInterval(() => { isMissing = true; reread(); }, REREAD_MS);
}
