// Passages of the text as evidence: what is selected goes to the current question, or to the whole label.

import { field } from "./form.js";
import { announce, words } from "./words.js";

const LONGEST = 2000;

export class Evidence {
  constructor(root, form, rows, signal) {
    this.root = root;
    this.form = form;
    this.rows = rows;
    this.selected = null;
    // On a phone, a press on a button takes the selection away: the last one is remembered.
    document.addEventListener("selectionchange", () => this.remember(), { signal });
    form.addEventListener("click", (event) => {
      const { attach, remove } = event.target.closest("button")?.dataset ?? {};
      if (attach) {
        this.remember();
        this.put(attach);
      }
      if (remove) this.remove(remove);
    }, { signal });
  }

  // A selection is also looked at when it is asked for: a busy browser tells of it only after the key or the press.
  remember() {
    const selection = document.getSelection();
    const text = selection.toString().trim();
    const within = selection.anchorNode?.parentElement?.closest(".workbench-text .text");
    if (text && within && this.root.contains(within)) {
      this.selected = { text: text.slice(0, LONGEST), letter: within.closest("[data-letter]")?.dataset.letter };
    }
  }

  // To the current question; of a pair, about the response that the passage is from.
  attach() {
    this.remember();
    let row = this.rows.current ?? this.rows.last;
    const letter = this.selected?.letter;
    if (row && letter) row = row.closest(".question").querySelector(`[data-letter="${letter}"]`) ?? row;
    this.put(row ? `quote-${row.dataset.row}` : "quote-whole");
  }

  put(name) {
    const passage = field(this.form, name);
    if (!passage) return;
    if (!this.selected) {
      announce(words("select"));
      return;
    }
    const before = passage.value.trim();
    passage.value = (before ? `${before}\n…\n${this.selected.text}` : this.selected.text).slice(0, LONGEST);
    this.selected = null;
    document.getSelection().removeAllRanges();
    passage.closest("details").open = true;
    this.tell(passage, "attached");
  }

  remove(name) {
    const passage = field(this.form, name);
    passage.value = "";
    const fold = passage.closest("details");
    fold.open = false;
    fold.querySelector("summary").focus();
    this.tell(passage, "removed");
  }

  tell(passage, what) {
    passage.dispatchEvent(new Event("input", { bubbles: true }));
    passage.closest(".question, details").scrollIntoView({ block: "nearest" });
    announce(words(what));
  }

  // "This question is wrong here": marks it and waits for a note; once more takes the mark back.
  flag() {
    const row = this.rows.current ?? this.rows.last;
    const fold = row?.closest(".question").querySelector("[data-flag]");
    if (!fold) return;
    const mark = fold.querySelector("input");
    mark.checked = !mark.checked;
    mark.dispatchEvent(new Event("input", { bubbles: true }));
    fold.open = mark.checked;
    (mark.checked ? fold.querySelector("textarea") : fold.querySelector("summary")).focus();
  }
}
