// Opens a <dialog> from a button with data-dialog="ID". Closing needs no script: Escape, or <form method="dialog">.
"use strict";

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-dialog]");
  const dialog = button && document.getElementById(button.dataset.dialog);
  if (dialog && !dialog.open) dialog.showModal();
});
