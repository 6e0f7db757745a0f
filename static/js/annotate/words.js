// What the screen says, in the language of the page, and the reader's keys: both come with the page.

const given = document.getElementById("words").dataset;
const texts = JSON.parse(given.words);

// KeyboardEvent.key in lower case -> action.
export const actionOf = new Map(Object.entries(JSON.parse(given.keys)));

// The text with this name, its placeholders filled; of a pair, the form for `n`.
export function words(name, values = {}) {
  const text = Array.isArray(texts[name]) ? texts[name][values.n === 1 ? 0 : 1] : texts[name];
  return text.replace(/%\((\w+)\)s/g, (_whole, key) => values[key]);
}

// Said to screen readers, politely. The same words twice are said twice.
export function announce(text) {
  const region = document.getElementById("said");
  region.textContent = "";
  requestAnimationFrame(() => { region.textContent = text; });
}

export function clockTime(iso) {
  return new Date(iso).toLocaleTimeString(document.documentElement.lang, { timeStyle: "medium", hourCycle: "h23" });
}
