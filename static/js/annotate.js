// The annotation screen. The form works without this script: its buttons post it. With it, the next task comes in the
// answer to a submission and takes the place of the last one, without another request.

import { showClock, startClock } from "./annotate/clock.js";
import { open } from "./annotate/screen.js";
import { announce, words } from "./annotate/words.js";

let screen = null;

function start() {
  screen = open(document.getElementById("screen"), go);
}

// To what the server answered to a submission: the next task's screen, or another page.
function go({ next, screen: html, said }) {
  screen.close();
  if (!html) {
    location.assign(next);
    return;
  }
  const template = document.createElement("template");
  template.innerHTML = html; // made by the server's template, which escapes
  document.getElementById("screen").replaceWith(template.content);
  history.pushState(null, "", next);
  start();
  if (!document.querySelector("#answer > .is-warning")) screen.saving.show("saved", said); // the warning says it
  showClock();
  scrollTo(0, 0);
  document.querySelector(".workbench-text").focus({ preventScroll: true });
  announce(`${said} ${words("task")}`);
}

start();
startClock();
window.addEventListener("popstate", () => location.reload());
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload(); // a page from the history has an old version number
});
