// chart.js: draws a <figure class="chart"> from the table inside it. The table is the data; the
// drawing is the extra, so a page without script still has its figures.
//
//   <figure class="chart" data-chart="stack" data-unit="candidates" data-size="l" data-step="10">
//     <p class="reading">…the finding, in a sentence…</p>
//     <div class="plot" role="img" tabindex="0" aria-label="…"></div> <ul class="mark-list sr">…</ul>
//     <div class="legend"></div>
//     <details class="as-table"><summary>…</summary> <table>…</table></details>
//   </figure>
//
// kinds   stack   areas on top of one another, the first column after the time at the bottom
//         lines   one line for each column; a cell with a word instead of a number is a gap
//         running the same of running sums; data-unit="usd": cells are dollars, buckets millionths
// A row says its moment (data-at, seconds since the epoch), a head its key (data-key). The event
// "bucket" on the figure, detail {at, values: {key: number}}, replaces one row or appends it.
// Colours are read from tokens.css at draw time, so one module serves both schemes.

const probe = document.createElement("span");
probe.className = "sr";
probe.setAttribute("aria-hidden", "true");
document.body.append(probe);

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const dash = (i) => (token(`dash-${i}`) === "none" ? [] : token(`dash-${i}`).split(/\s+/).map(Number));
const font = () => `12px ${token("font-text")}`;

function colour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** An opaque tint: stacked areas must hide what lies beneath them. */
function tint(name, part) {
  const parts = (text) => text.match(/[\d.]+/g).map(Number);
  const [ink, ground] = [parts(colour(name)), parts(colour("surface"))];
  return `rgb(${[0, 1, 2].map((i) => Math.round(ink[i] * part + ground[i] * (1 - part))).join(" ")})`;
}

// ---- numbers and times

const THIN = "\u202f";
const whole = new Intl.NumberFormat("en-US");
const STEPS = [10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

function short(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${+(value / 1e9).toPrecision(3)}${THIN}G`;
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}${THIN}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}${THIN}k`;
  return whole.format(+value.toPrecision(4));
}

function clock(seconds, withSeconds) {
  const format = { hour: "2-digit", minute: "2-digit", ...(withSeconds ? { second: "2-digit" } : {}) };
  return new Date(seconds * 1000).toLocaleTimeString("en-GB", format);
}

const day = (seconds) => new Date(seconds * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
const LONG_S = 36 * 3600;   // a window that is longer has its days below it, not its hours

// ---- the table is the data

/** A cell's number, or null when it holds a word (no data, unknown). */
function figureOf(cell) {
  const text = cell.textContent.replace(/[,\s]/g, "").replace("−", "-");
  const value = Number(text);
  return text === "" || Number.isNaN(value) ? null : value;
}

function read(table) {
  const heads = [...table.tHead.rows[0].cells].slice(1);
  const rows = [...table.tBodies[0].rows];
  return {
    keys: heads.map((head) => head.dataset.key),
    names: heads.map((head) => head.textContent.trim()),
    xs: rows.map((row) => Number(row.dataset.at)),
    columns: heads.map((_, c) => rows.map((row) => figureOf(row.cells[c + 1]))),
  };
}

function newRow(table, at) {
  const row = table.tBodies[0].insertRow();
  row.dataset.at = at;
  const head = document.createElement("th");
  head.scope = "row";
  const time = document.createElement("time");
  time.dateTime = new Date(at * 1000).toISOString();
  time.dataset.clock = "";
  time.textContent = clock(at, true);
  head.append(time);
  row.append(head);
  for (let c = 1; c < table.tHead.rows[0].cells.length; c += 1) {
    const cell = row.insertCell();
    cell.className = "num";
    cell.textContent = "0";
  }
  return row;
}

/** The row of that moment: what lies between the last one and it did not happen, so it is 0. */
function rowAt(table, at, step) {
  const rows = table.tBodies[0].rows;
  for (let i = rows.length - 1; i >= 0 && Number(rows[i].dataset.at) >= at; i -= 1) {
    if (Number(rows[i].dataset.at) === at) return rows[i];
  }
  const last = rows.length ? Number(rows[rows.length - 1].dataset.at) : at - step;
  if (at < last) return null;
  const shown = rows.length;
  let row = null;
  for (let next = Math.max(last + step, at - shown * step); next <= at; next += step) row = newRow(table, next);
  while (rows.length > shown && shown > 1) rows[0].remove();
  return row;
}

/** Replace a bucket. A key without a column counts as "other", where there is such a column. */
function replace(table, step, { at, values }, write) {
  const row = rowAt(table, at, step);
  if (!row) return false;
  const sums = new Map();
  const keys = [...table.tHead.rows[0].cells].slice(1).map((head) => head.dataset.key);
  for (const [key, value] of Object.entries(values)) {
    const into = keys.includes(key) ? key : "other";
    if (keys.includes(into)) sums.set(into, (sums.get(into) ?? 0) + value);
  }
  keys.forEach((key, c) => { row.cells[c + 1].textContent = write(sums.get(key) ?? 0); });
  return true;
}

// ---- the drawing

const isMoney = (figure) => figure.dataset.series === "usd";
const dollars = (value) => `${value < 0 ? "−" : ""}$${Math.abs(value) >= 100 ? whole.format(Math.round(Math.abs(value))) : Math.abs(value).toFixed(Math.abs(value) >= 1 ? 2 : 4)}`;

function axes(format, smallest) {
  const base = { stroke: colour("muted"), font: font(), grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false } };
  return [
    { ...base, grid: { show: false }, space: 76, incrs: STEPS, size: 26, gap: 6, values: (u, ticks) => ticks.map((t) => (u.scales.x.max - u.scales.x.min > LONG_S ? day(t) : clock(t))) },
    { ...base, space: 36, size: 52, gap: 8, incrs: [...smallest, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 1e7, 1e8, 1e9], values: (_, ticks) => ticks.map(format) },
  ];
}

/** Lines for changes and restarts; their words stand in rows above the drawing. */
function marks(figure) {
  const list = [...figure.querySelectorAll(".mark-list li")].map((li) => ({ at: Number(li.dataset.at), kind: li.dataset.kind, word: li.dataset.word }));
  const words = figure.hasAttribute("data-mark-words");
  return { hooks: { draw: [(u) => drawMarks(u, list, words)] } };
}

function drawMarks(u, list, words) {
  const { ctx, bbox } = u, ratio = devicePixelRatio;
  ctx.save();
  ctx.textAlign = "left"; ctx.textBaseline = "alphabetic";   // uPlot leaves its axis settings behind
  ctx.font = `${12 * ratio}px ${token("font-text")}`;
  const clear = [-Infinity, -Infinity];   // from where each of the two rows is free
  for (const mark of list) {
    const x = Math.round(u.valToPos(mark.at, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ctx.fillStyle = colour(mark.kind);
    ctx.lineWidth = 1.5 * ratio;
    ctx.setLineDash(mark.kind === "event" ? [4 * ratio, 3 * ratio] : []);
    ctx.beginPath(); ctx.moveTo(x, bbox.top - (words ? 4 * ratio : 0)); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
    if (!words) continue;
    const width = ctx.measureText(mark.word).width;
    const left = x + width > bbox.left + bbox.width ? x - width : x - 2 * ratio;
    const row = clear.findIndex((free) => left >= free);
    if (row < 0) continue;   // its line stays, and its word in the list for whoever listens
    ctx.fillText(mark.word, left, bbox.top - (row ? 22 : 8) * ratio);
    clear[row] = left + width + 10 * ratio;
  }
  ctx.restore();
}

/** Space above the drawing for the words of the marks: two rows where they may meet. */
function room(figure) {
  const shown = figure.querySelectorAll(".mark-list li").length;
  if (!figure.hasAttribute("data-mark-words") || !shown) return 12;
  return shown > 1 ? 40 : 24;
}

function frameOf(figure, format) {
  const plot = figure.querySelector(".plot");
  return {
    width: plot.clientWidth, height: plot.clientHeight, padding: [room(figure), 18, 0, 0],
    legend: { show: false }, plugins: [marks(figure)], axes: axes(format, isMoney(figure) ? [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5] : []),
    cursor: { x: true, y: false, points: { show: false }, drag: { x: false, y: false }, sync: { key: figure.dataset.sync ?? figure.id, setSeries: false } },
  };
}

function stack(figure, data, state) {
  const running = data.xs.map(() => 0);
  const total = data.xs.map((_, i) => data.columns.reduce((t, c, k) => t + (state.visible[k] ? c[i] ?? 0 : 0), 0));
  const isGap = data.xs.map((_, i) => data.columns.length > 0 && data.columns.every((c) => c[i] === null));
  const layers = data.columns.map((column, k) => column.map((value, i) => {
    if (isGap[i]) return null;
    if (state.visible[k]) running[i] += state.share ? (total[i] ? (100 * (value ?? 0)) / total[i] : 0) : value ?? 0;
    return running[i];
  }));
  // uPlot paints series in order: the top layer first, so that each lower one covers its part.
  const order = layers.map((_, k) => k).reverse();
  return {
    data: [data.xs, ...order.map((k) => layers[k])],
    options: {
      ...frameOf(figure, state.share ? (v) => `${v}${THIN}%` : short),
      scales: { x: { time: false }, y: { range: (_, __, max) => [0, state.share ? 100 : Math.max(4, (max ?? 0) * 1.06)] } },
      series: [{}, ...order.map((k) => ({
        show: state.visible[k], stroke: colour(`series-${k + 1}`), width: 1.25, dash: dash(k + 1), spanGaps: false, points: { show: false },
        fill: tint(`series-${k + 1}`, state.lit === undefined || state.lit === k ? 0.42 : 0.12),
      }))],
    },
  };
}

function lines(figure, data, state) {
  return {
    data: [data.xs, ...data.columns],
    options: {
      ...frameOf(figure, short),
      scales: { x: { time: false }, y: { range: (_, __, max) => [0, Math.max(4, (max ?? 0) * 1.08)] } },
      series: [{}, ...data.names.map((_, k) => ({
        show: state.visible[k], stroke: colour(`series-${k + 1}`), width: 1.75, dash: dash(k + 1), spanGaps: false, points: { show: false },
      }))],
    },
  };
}

function running(figure, data, state) {
  const made = lines(figure, { ...data, columns: data.columns.map(sums) }, state);
  made.options.axes = frameOf(figure, (v) => `${v < 0 ? "−" : ""}$${+Math.abs(v).toPrecision(4)}`).axes;
  made.options.scales.y = { range: (_, min, max) => [Math.min(0, (min ?? 0) * 1.08), Math.max(0.001, (max ?? 0) * 1.08)] };
  return made;
}

/** A gap stays a gap; what was counted before it is not lost. */
function sums(column) {
  let sum = 0;
  return column.map((value) => (value === null ? null : (sum += value)));
}

const KINDS = { stack, lines, running };

// ---- what can be read from it without seeing it

/** The line above the drawing: the whole window at rest, one bucket under the cursor. */
function tell(figure, data, at) {
  const line = figure.querySelector(".reading");
  line.querySelector(".at-cursor")?.remove();
  for (const rest of line.children) rest.hidden = at !== null;
  if (at === null) return;
  const parts = data.names.map((name, k) => [name, data.columns[k][at]]).filter(([, v]) => v).sort((a, b) => b[1] - a[1]);
  const isGap = data.columns.every((column) => column[at] === null);
  const nothing = isGap ? "no data" : "nothing in this bucket";
  const said = document.createElement("span");
  said.className = "at-cursor";
  const when = document.createElement("b");
  when.textContent = data.xs.at(-1) - data.xs[0] > LONG_S ? `${day(data.xs[at])}, ${clock(data.xs[at])}` : clock(data.xs[at], true);
  if (isMoney(figure)) {
    const upTo = data.columns[0].slice(0, at + 1).reduce((t, n) => t + (n ?? 0), 0);
    said.append(when, `  ${isGap ? "no data" : `${dollars(upTo)} since the window began`}`);
  } else said.append(when, `  ${parts.slice(0, 5).map(([name, v]) => `${name} ${whole.format(v)}`).join(" · ") || nothing}`);
  line.append(said);
}

function legend(figure, data, state, redraw) {
  const box = figure.querySelector(".legend");
  const isStack = figure.dataset.chart === "stack";
  box.replaceChildren();
  data.names.forEach((name, k) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(state.visible[k]));
    const y = isStack ? 1 : 5;
    button.innerHTML = `<svg class="key c${k + 1}" viewBox="0 0 22 10" aria-hidden="true">${isStack ? '<rect width="22" height="10"/>' : ""}<line class="d${k + 1}" x1="0" x2="22" y1="${y}" y2="${y}"/></svg><span></span><span class="v"></span>`;
    button.querySelector("span").textContent = name;
    button.addEventListener("click", () => { state.visible[k] = !state.visible[k]; button.setAttribute("aria-pressed", String(state.visible[k])); redraw(); });
    if (isStack) {
      button.addEventListener("pointerenter", () => { state.lit = k; redraw(); });
      button.addEventListener("pointerleave", () => { state.lit = undefined; redraw(); });
    }
    box.append(button);
  });
}

function retotal(figure, data) {
  figure.querySelectorAll(".legend .v").forEach((cell, k) => {
    const total = data.columns[k].reduce((t, n) => t + (n ?? 0), 0);
    cell.textContent = isMoney(figure) ? dollars(total) : short(total);
  });
}

// ---- one figure

function mount(figure) {
  const plot = figure.querySelector(".plot"), table = () => figure.querySelector("table");   // its rows are replaced
  let data = read(table()), drawing = null, at = null, seen = 0;
  const state = { visible: data.names.map(() => true) };
  const write = isMoney(figure) ? (millionths) => (millionths / 1e6).toFixed(6) : whole.format;

  const draw = () => {
    if (!plot.clientWidth || !data.names.length) return;
    const made = KINDS[figure.dataset.chart](figure, data, state);
    drawing?.destroy();
    made.options.hooks = { setCursor: [(u) => move(u.cursor.idx ?? null)] };
    drawing = new uPlot(made.options, made.data, plot);
    if (at !== null) drawing.setCursor({ left: drawing.valToPos(data.xs[at], "x"), top: 10 });
  };
  const move = (to) => { if (to !== at) { at = to; tell(figure, data, at); } };
  const reread = () => {
    const before = data.keys.join();
    data = read(table());
    if (data.keys.join() !== before) { state.visible = data.names.map(() => true); legend(figure, data, state, draw); }
    at = at === null ? null : Math.min(at, data.xs.length - 1);
    retotal(figure, data);
    draw();
  };

  legend(figure, data, state, draw);
  retotal(figure, data);
  figure.addEventListener("share", (event) => { state.share = event.detail; draw(); });
  figure.addEventListener("bucket", (event) => { if (replace(table(), Number(figure.dataset.step), event.detail, write)) reread(); });
  figure.addEventListener("reread", reread);
  new ResizeObserver(() => { if (plot.clientWidth !== seen) { seen = plot.clientWidth; draw(); } }).observe(plot);
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 }[event.key];
    if (!step || !drawing) return;
    event.preventDefault();
    figure.querySelector(".reading").setAttribute("aria-live", "polite");   // spoken only when keys move it
    const to = Math.min(data.xs.length - 1, Math.max(0, (at ?? data.xs.length) + step));
    drawing.setCursor({ left: drawing.valToPos(data.xs[to], "x"), top: 10 });
    move(to);
  });
  plot.addEventListener("blur", () => {
    figure.querySelector(".reading").removeAttribute("aria-live");
    drawing?.setCursor({ left: -10, top: -10 });
    move(null);
  });
  return draw;
}

const redraws = new Map();

function mountAll(root) {
  for (const figure of root.querySelectorAll("figure.chart")) if (!redraws.has(figure)) redraws.set(figure, mount(figure));
}
mountAll(document);
document.addEventListener("htmx:load", (event) => mountAll(event.detail.elt));

function all() {
  for (const [figure, draw] of redraws) { if (figure.isConnected) draw(); else redraws.delete(figure); }
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
new MutationObserver(all).observe(document.documentElement, { attributeFilter: ["data-theme"] });

// ---- switches that change the drawing and nothing else; they are hidden until there is script

for (const box of document.querySelectorAll(".chart-switch")) box.hidden = false;
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-share]");
  if (!button) return;
  for (const other of button.parentElement.children) other.setAttribute("aria-pressed", String(other === button));
  for (const figure of document.querySelectorAll('figure[data-chart="stack"]')) figure.dispatchEvent(new CustomEvent("share", { detail: button.dataset.share === "1" }));
});

