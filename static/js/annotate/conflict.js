// The two dialogs that wait for a choice: both texts after a save from an older version, and a task that is closed.

import { forget } from "./store.js";

const dialog = (id) => document.getElementById(id);

// Resolves to "mine" or "theirs"; to nothing when the dialog is left without a choice.
export function choose(comparison) {
  const box = dialog("conflict");
  dialog("conflict-texts").innerHTML = comparison; // made by the server's template, which escapes
  return new Promise((resolve) => {
    const done = (chosen) => {
      resolve(chosen);
      box.close();
    };
    dialog("keep-mine").onclick = () => done("mine");
    dialog("take-theirs").onclick = () => done("theirs");
    box.onclose = () => resolve();
    if (!box.open) box.showModal();
  });
}

export function isOver(reply, saving) {
  dialog("over-why").textContent = reply.error;
  dialog("over-next").href = reply.next;
  dialog("over-next").onclick = () => forget(saving.task);
  dialog("over-reopen").onclick = () => location.assign(saving.form.getAttribute("action"));
  if (!dialog("over").open) dialog("over").showModal();
}
