// Keys: the ones printed on the buttons, never while text is being composed or typed.

import { choose } from "./rows.js";
import { actionOf } from "./words.js";

const ANSWERS = new Set(["yes", "no", "na", "unsure"]);
const EFFECTS = new Set(["easier", "none", "harder"]);
const TYPED_IN = "textarea, select, input:not([type=radio], [type=checkbox])";

// The field of a sheet that was just closed keeps the focus until the browser draws again.
const typesIn = (field) => field.matches(TYPED_IN) && field.checkVisibility();

const openOver = () => document.querySelector("dialog[open], [popover]:popover-open:not(#rest)");

export function listen({ root, form, rows, order, evidence, toggleRaw, signal }) {
  const pick = (input) => {
    if (!input) return false;
    if (order.waits(input)) order.explain();
    else {
      choose(input);
      input.focus({ preventScroll: true });
      input.closest("label").scrollIntoView({ block: "nearest" });
    }
    return true;
  };

  // Returns whether the key did something.
  function act(action, key) {
    if (ANSWERS.has(action)) return rows.answer(action);
    if (EFFECTS.has(action)) return pick(form.querySelector(`input[name=effect][value=${action}]`));
    const press = (selector) => {
      const button = root.querySelector(selector);
      button?.click();
      return Boolean(button);
    };
    switch (action) {
      case "next": rows.step(1); return true;
      case "previous": rows.step(-1); return true;
      case "quote": evidence.attach(); return true;
      case "flag": evidence.flag(); return true;
      case "comment": form.elements.namedItem("comment").focus(); return true;
      case "raw": toggleRaw(); return true;
      case "guidelines": return press("[popovertarget=guidelines]");
      case "skip": return press("[popovertarget=skip]");
      case "help": return press("[popovertarget=keys]");
      case "back": return press("#back");
      default: return pick(/^\d$/.test(key) && form.querySelector(`input[data-digit="${key}"]`));
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.altKey || event.repeat) return;
    const over = openOver();
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      event.preventDefault();
      if (!over) form.requestSubmit(root.querySelector("#submit"));
      return;
    }
    if (event.ctrlKey || event.metaKey) return;
    if (typesIn(event.target)) {
      if (event.key === "Escape" && !over) event.target.blur();
      return;
    }
    const key = event.key.toLowerCase();
    const action = actionOf.get(key);
    if (over) {
      if ((action === "guidelines" && over.id === "guidelines") || (action === "help" && over.id === "keys")) {
        over.hidePopover();
        event.preventDefault();
      }
      return;
    }
    if (act(action, key)) event.preventDefault();
  }, { signal });
}
