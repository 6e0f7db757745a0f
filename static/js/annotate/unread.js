// Copies that cannot be read back into the form: their text is shown as it is kept, to be copied, until it is removed.

import { remove, unread } from "./store.js";
import { announce, words } from "./words.js";

export function offerUnread(root, task, signal) {
  const found = unread(task);
  const notice = root.querySelector("#unread");
  if (!found.length || !notice) return;
  const text = notice.querySelector("textarea");
  text.value = found.map(([, kept]) => kept).join("\n\n");
  notice.hidden = false;
  notice.querySelector("#unread-copy").addEventListener("click", async () => {
    text.select(); // for whoever has to copy it by hand
    try {
      await navigator.clipboard.writeText(text.value);
      announce(words("copied"));
    } catch {
      announce(words("selected"));
    }
  }, { signal });
  notice.querySelector("#unread-remove").addEventListener("click", () => {
    remove(found.map(([key]) => key));
    notice.hidden = true;
    root.querySelector(".workbench-text").focus({ preventScroll: true });
    announce(words("gone"));
  }, { signal });
}
