// Later parts of the form wait for the earlier ones, a comment says when it is needed, and a writer's lines are counted.

import { announce, words } from "./words.js";

const isChosen = (part) => Boolean(part.querySelector("input:checked"));
const isComplete = {
  questions: (part) => [...part.querySelectorAll("[data-row] .segmented")].every(isChosen),
  score: isChosen,
  preference: isChosen,
  effect: isChosen,
  writing: (part) => part.querySelector('input[value="no"]:checked') || part.querySelector("textarea").value.trim(),
};

export class Order {
  constructor(form, signal) {
    this.form = form;
    this.parts = [...form.querySelectorAll(".part")];
    // A press on a part that waits is refused with a reason, so that it never reaches the form.
    form.addEventListener("click", (event) => {
      if (!event.target.closest('.part[aria-disabled="true"]')) return;
      event.preventDefault();
      this.explain();
    }, { signal, capture: true });
    form.addEventListener("input", () => this.refresh(), { signal });
    this.refresh();
  }

  get firstIncomplete() {
    return this.parts.find((part) => !isComplete[part.dataset.part](part)) ?? null;
  }

  get wantsComment() {
    const comment = this.form.elements.namedItem("comment");
    return comment.ariaRequired === "true" && !comment.value.trim();
  }

  waits(input) {
    return input.closest(".part")?.getAttribute("aria-disabled") === "true";
  }

  explain() {
    announce(words("first"));
  }

  refresh() {
    const open = this.parts.indexOf(this.firstIncomplete);
    this.parts.forEach((part, index) => {
      if (open !== -1 && index > open) part.setAttribute("aria-disabled", "true");
      else part.removeAttribute("aria-disabled");
    });
    this.needComment();
    this.count();
  }

  needComment() {
    const comment = this.form.elements.namedItem("comment");
    const reasons = new Set((comment.dataset.for ?? "").split(" ").filter(Boolean));
    if (!reasons.size) return;
    const holds = {
      no: '[name^="answer-"][value="no"]:checked',
      na: '[value="na"]:checked',
      unsure: '[value="unsure"]:checked',
      lowest: `[name=score][value="${comment.dataset.lowest}"]:checked`,
      highest: `[name=score][value="${comment.dataset.highest}"]:checked`,
      tie: '[name=preference][value="3"]:checked',
    };
    comment.ariaRequired = String([...reasons].some((reason) => this.form.querySelector(holds[reason])));
  }

  count() {
    const written = this.form.querySelector("#written-count");
    if (!written) return;
    const n = this.form.elements.namedItem("questions").value.split("\n").filter((line) => line.trim()).length;
    written.textContent = n ? words("written", { n }) : "";
  }
}
