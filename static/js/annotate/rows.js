// The current row: the question, and of a pair the response, that the next answer is about. There is none after the last.

export class Rows {
  constructor(form, signal) {
    this.all = [...form.querySelectorAll("[data-row]")];
    this.current = null;
    this.last = null; // the one that was current most recently
    for (const row of this.all) {
      row.closest(".question").addEventListener("focusin", (event) => {
        if (row.contains(event.target)) this.mark(row);
      }, { signal });
    }
    this.mark(this.firstOpen);
  }

  get firstOpen() {
    return this.all.find((row) => !row.querySelector(".segmented input:checked")) ?? null;
  }

  mark(row) {
    for (const other of this.all) {
      other.removeAttribute("aria-current");
      other.closest(".question").classList.remove("is-current");
    }
    this.current = row;
    if (!row) return;
    this.last = row;
    row.setAttribute("aria-current", "true");
    row.closest(".question").classList.add("is-current");
  }

  goTo(row) {
    this.mark(row);
    row.closest(".question").scrollIntoView({ block: "nearest" });
    (row.querySelector("input:checked") ?? row.querySelector("input")).focus({ preventScroll: true });
  }

  step(by) {
    const index = this.current ? this.all.indexOf(this.current) + by : this.all.indexOf(this.last);
    const row = this.all[Math.min(Math.max(index, 0), this.all.length - 1)];
    if (row) this.goTo(row);
  }

  // Gives the current row this answer. Returns false where the row does not offer it.
  answer(value) {
    const input = this.current?.querySelector(`.segmented input[value="${value}"]`);
    if (!input) return false;
    choose(input);
    const next = this.all[this.all.indexOf(this.current) + 1];
    if (next) this.goTo(next);
    else this.leave();
    return true;
  }

  // On from the last question: another Y or N must not change its answer.
  leave() {
    this.mark(null);
    const part = this.last.closest(".part");
    const later = [...part.parentElement.querySelectorAll(".part")].find(
      (each) => part.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
    const target = part.querySelector("textarea[name=questions]")
      ?? later?.querySelector("input:checked, input")
      ?? part.parentElement.querySelector("#submit");
    target.focus({ preventScroll: true });
    (target.closest(".scale-step, .field") ?? target).scrollIntoView({ block: "nearest" });
  }
}

export function choose(input) {
  if (input.checked) return;
  input.checked = true;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}
