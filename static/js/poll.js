// Polling that costs little and disturbs nobody. An element with data-poll asks with the entity tag of what it shows
// (data-etag) and is left alone by a 304. It does not ask while the page is hidden, nor while the reader's keyboard
// focus or text selection is inside it, or inside what comes along with it, whose id data-poll may name.
"use strict";

const isRead = (element) => {
  if (!element) return false;
  if (element.querySelector(":focus-visible")) return true;
  const selection = document.getSelection();
  return Boolean(selection) && !selection.isCollapsed && element.contains(selection.anchorNode);
};

document.addEventListener("htmx:beforeRequest", (event) => {
  const element = event.detail.elt;
  if (!element.matches("[data-poll]")) return;
  const beside = document.getElementById(element.dataset.poll);
  if (document.hidden || isRead(element) || isRead(beside)) event.preventDefault();
});

document.addEventListener("htmx:configRequest", (event) => {
  const { etag } = event.detail.elt.dataset;
  if (etag) event.detail.headers["If-None-Match"] = etag;
});

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status === 304) event.detail.shouldSwap = false;
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("[data-poll]")) htmx.trigger(element, "refresh");
});
