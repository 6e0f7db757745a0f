// Active time: seconds in which the page is visible and something was done within the last minute. It counts for the task
// (the form's active_seconds) and for the sitting, which ends with a long pause; after a long sitting a rest is proposed.

import { announce } from "./words.js";

const IDLE_SECONDS = 60;
const PAUSE_SECONDS = 10 * 60;
const REST_AFTER_SECONDS = 50 * 60;
const REST_AGAIN_SECONDS = 30 * 60;
const SITTING = "concord-sitting";

let lastSign = Date.now();
for (const kind of ["keydown", "pointermove", "pointerdown", "wheel", "scroll"]) {
  document.addEventListener(kind, () => { lastSign = Date.now(); }, { passive: true, capture: true });
}

function sitting() {
  try {
    const found = JSON.parse(localStorage.getItem(SITTING));
    if (found && Date.now() - found.at < PAUSE_SECONDS * 1000) return found;
  } catch {
    // None was kept.
  }
  return { seconds: 0, remindAt: REST_AFTER_SECONDS };
}

function sit() {
  const now = sitting();
  now.seconds += 1;
  now.at = Date.now();
  if (now.seconds >= now.remindAt) {
    now.remindAt = now.seconds + REST_AGAIN_SECONDS;
    const rest = document.getElementById("rest");
    rest.showPopover();
    announce(rest.querySelector("p").textContent);
  }
  try {
    localStorage.setItem(SITTING, JSON.stringify(now));
  } catch {
    // Then nobody is reminded.
  }
}

export function showClock() {
  const seconds = Number(document.querySelector("[name=active_seconds]").value);
  const minutes = Math.floor(seconds / 60);
  const clock = document.getElementById("clock"); // not on the screens of corrections, decisions and keys
  if (clock) clock.textContent = `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
}

export function startClock() {
  showClock();
  setInterval(() => {
    if (document.visibilityState !== "visible" || Date.now() - lastSign >= IDLE_SECONDS * 1000) return;
    document.querySelector("[name=active_seconds]").value = Number(document.querySelector("[name=active_seconds]").value) + 1;
    showClock();
    sit();
  }, 1000);
}
