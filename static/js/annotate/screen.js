// One task's screen, from its opening until the next one takes its place. Its listeners and timers end with `signal`.

import { choose, isOver } from "./conflict.js";
import { Evidence } from "./evidence.js";
import { listen } from "./keys.js";
import { Order } from "./order.js";
import { Rows } from "./rows.js";
import { Saving } from "./saving.js";

export function open(root, go) {
  const stop = new AbortController();
  const { signal } = stop;
  const form = root.querySelector("#answer");
  const raw = root.querySelector("#raw");

  function toggleRaw() {
    const plain = raw.getAttribute("aria-pressed") !== "true";
    raw.setAttribute("aria-pressed", String(plain));
    root.classList.toggle("is-plain", plain);
    for (const text of root.querySelectorAll(".plain")) text.open = plain;
  }
  raw.addEventListener("click", toggleRaw, { signal });

  const isComplete = () => !order.firstIncomplete && !order.wantsComment;

  // To what is missing: the first open question, else the first part that is not complete, else the comment. Where
  // nothing is, the list of questions is not as it should be.
  function missing() {
    const part = order.firstIncomplete;
    if (rows.firstOpen) rows.goTo(rows.firstOpen);
    else if (part) part.querySelector("textarea, input").focus();
    else form.elements.namedItem(order.wantsComment ? "comment" : "questions")?.focus();
  }

  const saving = new Saving({ root, form, signal, go, choose, isOver, isComplete, missing });
  const order = new Order(form, signal);
  const rows = new Rows(form, signal);
  const evidence = new Evidence(root, form, rows, signal);
  root.querySelector("#leave")?.addEventListener("click", () => saving.giveUp(), { signal });
  root.querySelector("#skip form")?.addEventListener("submit", () => saving.giveUp(), { signal });
  listen({ root, form, rows, order, evidence, toggleRaw, signal });
  return { saving, close: () => stop.abort() };
}
