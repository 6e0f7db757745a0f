// The annotation screen: autosave, a copy in the browser until the server has confirmed, keys, active time.
// The form works without this script: its buttons post it.
"use strict";

const form = document.getElementById("answer");
const field = (name) => form.elements.namedItem(name);
const state = document.getElementById("save-state");
const conflict = document.getElementById("conflict");
const storeKey = `concord-task-${form.dataset.task}`;
const SAVE_AFTER_MS = 400;
const RETRY_AFTER_MS = 5000;
const IDLE_AFTER_MS = 60000;

let timer = 0;
let saving = false;
let leaving = false;
let submitNext = false; // submit was pressed while a save was under way
let changes = 0; // counts edits; `confirmed` is the last one the server has
let confirmed = 0;

document.getElementById("save-draft").hidden = true;

function show(kind, text) {
  state.className = `save-state push is-${kind}`;
  state.textContent = text;
}

function content() {
  const data = new FormData(form);
  data.delete("csrfmiddlewaretoken");
  return data;
}

function keepHere() {
  try {
    localStorage.setItem(storeKey, JSON.stringify([...content()]));
  } catch {
    // A full or forbidden store leaves the server's copy as the only one.
  }
}

function forgetHere() {
  try {
    localStorage.removeItem(storeKey);
  } catch {
    // Nothing was kept.
  }
}

function fill(entries) {
  for (const input of form.querySelectorAll("input[type=radio]")) input.checked = false;
  for (const [name, value] of entries) {
    if (name === "version") continue;
    const input = field(name);
    if (input) input.value = value;
  }
}

function restore() {
  let kept = null;
  try {
    kept = JSON.parse(localStorage.getItem(storeKey));
  } catch {
    forgetHere();
  }
  if (!Array.isArray(kept) || form.querySelector("[role=alert]:not([hidden])")) return;
  fill(kept);
  // With its token, a copy that did reach the server is known there. With an older version, the server answers with
  // what it has, and the annotator chooses.
  const find = (name) => kept.find((entry) => entry[0] === name)?.[1];
  field("version").value = find("version") ?? field("version").value;
  changed();
  field("token").value = find("token") ?? "";
  keepHere();
}

function changed() {
  changes += 1;
  field("token").value = "";
  keepHere();
  show("saving", state.dataset.saving);
  clearTimeout(timer);
  timer = setTimeout(save, SAVE_AFTER_MS);
}

// One token for one state of the form: sent twice, also after a reload, it is stored once.
function ensureToken() {
  field("token").value ||= crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random()}`;
}

async function save(submit = false) {
  if (saving) {
    submitNext ||= submit;
    return;
  }
  if (leaving || (!submit && changes === confirmed)) return;
  saving = true;
  clearTimeout(timer);
  const upTo = changes;
  ensureToken();
  if (changes !== confirmed) keepHere();
  const data = new FormData(form);
  data.set("action", submit ? "submit" : "save");
  show("saving", state.dataset.saving);
  try {
    await understand(await fetch(form.dataset.saveUrl, { method: "POST", body: data, keepalive: true }), upTo);
  } catch {
    show("unsaved", state.dataset.unsaved);
    timer = setTimeout(save, RETRY_AFTER_MS, submit);
  } finally {
    saving = false;
  }
  if (submitNext) {
    submitNext = false;
    save(true);
  } else if (changes !== confirmed && state.classList.contains("is-saved")) save();
}

async function understand(reply, upTo) {
  const isJson = (reply.headers.get("Content-Type") || "").startsWith("application/json");
  if (reply.redirected || !isJson) throw new Error("not an answer of the save address");
  const said = await reply.json();
  if (said.next) {
    leaving = true;
    forgetHere();
    location.assign(said.next);
  } else if (reply.ok) {
    field("version").value = said.version;
    confirmed = upTo;
    if (changes === confirmed) forgetHere();
    else keepHere();
    show("saved", `${state.dataset.saved} ${new Date(said.saved_at).toLocaleTimeString([], { hourCycle: "h23" })}`);
  } else if (reply.status === 409) {
    show("unsaved", said.error);
    offerChoice(said);
  } else {
    confirmed = upTo; // the same text would be refused again: wait for a change
    show("unsaved", said.error);
  }
}

function offerChoice(said) {
  const answers = [...form.querySelectorAll(".question")].map((row, index) => {
    const id = row.querySelector("input").name.slice("answer-".length);
    return `${index + 1}. ${said.stored.answers[id] || "–"}`;
  });
  const parts = [...answers, `${said.stored.score ?? "–"}`, said.stored.comment && `“${said.stored.comment}”`];
  document.getElementById("conflict-text").textContent = parts.filter(Boolean).join(" · ");
  document.getElementById("keep-mine").onclick = () => {
    field("version").value = said.version;
    conflict.hidden = true;
    changed();
  };
  document.getElementById("take-theirs").onclick = () => {
    leaving = true;
    forgetHere();
    location.reload();
  };
  conflict.hidden = false;
  conflict.scrollIntoView({ block: "nearest" });
}

form.addEventListener("input", changed);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  save(true);
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload(); // a page from the history has an old version number
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") {
    clearTimeout(timer);
    save();
  }
});
window.addEventListener("online", () => save());

// --- keys: the ones printed on the buttons, never while text is being composed or typed ---

const questions = [...form.querySelectorAll(".question")];

function current() {
  return questions.find((row) => row.getAttribute("aria-current") === "true");
}

function makeCurrent(row) {
  for (const other of questions) other.removeAttribute("aria-current");
  if (row) row.setAttribute("aria-current", "true");
}

function goTo(row) {
  makeCurrent(row);
  row.scrollIntoView({ block: "nearest" });
  (row.querySelector("input:checked") || row.querySelector("input")).focus({ preventScroll: true });
}

function choose(input) {
  input.checked = true;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

function answer(key) {
  const row = current();
  const input = row && row.querySelector(`input[data-key="${CSS.escape(key)}"]`);
  if (!input) return false;
  choose(input);
  const next = questions[questions.indexOf(row) + 1];
  if (next) goTo(next);
  else input.focus({ preventScroll: true });
  return true;
}

function move(step) {
  const index = questions.indexOf(current());
  const row = questions[Math.min(Math.max(index + step, 0), questions.length - 1)];
  if (row) goTo(row);
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229 || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit(form.querySelector('button[value="submit"]'));
    return;
  }
  if (event.ctrlKey || event.metaKey) return;
  const typing = event.target.matches("textarea, input:not([type=radio])");
  if (typing) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const key = event.key.toLowerCase();
  const elsewhere = form.querySelector(`.scale input[data-key="${CSS.escape(key)}"], .is-effect input[data-key="${CSS.escape(key)}"]`);
  if (elsewhere) {
    choose(elsewhere);
    elsewhere.focus({ preventScroll: true });
    elsewhere.closest("label").scrollIntoView({ block: "nearest" });
  } else if (key === "j") move(1);
  else if (key === "k") move(-1);
  else if (key === "c") document.getElementById("comment").focus();
  else if (key === "?") document.getElementById("keys").showModal();
  else if (!answer(key)) return;
  event.preventDefault();
});

for (const row of questions) row.addEventListener("focusin", () => makeCurrent(row));
makeCurrent(questions.find((row) => !row.querySelector("input:checked")) || questions[0]);

// --- active time: seconds with the page visible and a sign of life within the last minute ---

let lastSign = Date.now();
for (const kind of ["keydown", "pointermove", "pointerdown", "scroll"]) {
  document.addEventListener(kind, () => { lastSign = Date.now(); }, { passive: true, capture: true });
}
setInterval(() => {
  if (document.visibilityState === "visible" && Date.now() - lastSign < IDLE_AFTER_MS) {
    field("active_seconds").value = Number(field("active_seconds").value) + 1;
  }
}, 1000);

restore();
