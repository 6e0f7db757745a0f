// Setting up a round: shows the fields that apply to the chosen kind and purpose. The server ignores the others, so
// without this script they are merely there.
"use strict";

const form = document.getElementById("round-form");

const wrapper = (control) =>
  control.type === "checkbox" && control.closest(".is-choices")
    ? control.closest("label").parentElement
    : control.closest(".field, .anchor");

const arrange = () => {
  const given = new Set();
  const chosen = (name) => form.querySelector(`[name="${name}"]:checked`)?.dataset.gives ?? "";
  for (const word of chosen("kind").split(" ")) given.add(word);
  given.add(given.has("keyed") ? chosen("purpose") : "labels");
  for (const control of form.querySelectorAll("[data-needs]")) {
    const other = control.dataset.with ? form.elements[control.dataset.with].value : "shown";
    const applies = control.dataset.needs.split(" ").every((word) => given.has(word));
    wrapper(control).hidden = !applies || !other;
  }
  const empty = (whole, parts) => [...whole.querySelectorAll(parts)].every((part) => part.hidden);
  for (const boxes of form.querySelectorAll(".is-choices:has([type=checkbox])")) boxes.hidden = empty(boxes, ":scope > div > div");
  for (const group of form.querySelectorAll(".anchors, .field-group")) group.hidden = empty(group, ".field, .anchor");
};

form.addEventListener("input", arrange);
document.addEventListener("htmx:oobAfterSwap", arrange);
arrange();
