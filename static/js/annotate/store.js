// A copy in this browser of what the server has not confirmed. Every page keeps its own, so that no tab writes over what
// another one keeps. A page leaves its name to the next one of its tab when it ends, and no sooner: a tab that is
// duplicated meanwhile takes along what the session holds.

const NAME = "concord-page";
const name = crypto.randomUUID?.() ?? String(Math.random());
const keyOf = (task, page = name) => `concord-task-${task}:${page}`;
const sources = new Map(); // by task: what this page's copy was taken from in other tabs, as [key, content]

let before = null; // the page that this tab showed last
try {
  before = sessionStorage.getItem(NAME);
  sessionStorage.removeItem(NAME);
  window.addEventListener("pagehide", () => sessionStorage.setItem(NAME, name));
} catch {
  // A forbidden store keeps no copies either.
}

// The copy under a key, also one of an earlier version, or null where there is none that can be read.
function read(key) {
  try {
    const copy = JSON.parse(localStorage.getItem(key));
    return isContent(copy?.content) ? { at: 0, ...copy, from: Array.isArray(copy.from) ? copy.from : [] } : null;
  } catch {
    return null;
  }
}

function isContent(found) {
  const isObject = found instanceof Object && !Array.isArray(found);
  return isObject && Object.values(found).every((value) => typeof value === "string");
}

const keysOf = (task) => Object.keys(localStorage).filter((key) => key.startsWith(keyOf(task, "")));

const said = (copy) => JSON.stringify(copy?.content);

// `copy` is { content, version, token, seconds, isStored }. One that says no more than what it was taken from is not kept before
// something is changed: a tab that somebody only looked at would leave it behind for good.
export function keep(task, copy) {
  try {
    const from = sources.get(task) ?? [];
    if (from[0]?.[1] === said(copy) && !read(keyOf(task))) return;
    localStorage.setItem(keyOf(task), JSON.stringify({ ...copy, from, at: Date.now() }));
  } catch {
    // A full or forbidden store leaves the server's copy as the only one.
  }
}

// What the copy was taken from goes with it, unless its own tab went on.
export function forget(task) {
  try {
    localStorage.removeItem(keyOf(task));
    for (const [key, content] of sources.get(task) ?? []) if (said(read(key)) === content) localStorage.removeItem(key);
    sources.delete(task);
  } catch {
    // Nothing was kept.
  }
}

// The copy of this tab's last page, or else the newest of another tab, which may be open still: that one stays there.
// `own` tells which.
export function kept(task) {
  try {
    const last = keyOf(task, before);
    const keys = keysOf(task).filter((key) => key !== last);
    const others = keys.map((key) => [key, read(key)]).filter(([, copy]) => copy);
    others.sort(([, one], [, other]) => other.at - one.at);
    const own = before && read(last);
    const [key, copy] = own ? [last, own] : (others[0] ?? []);
    if (!copy) return null;
    sources.set(task, own ? own.from : [[key, said(copy)], ...copy.from]);
    if (own) {
      localStorage.removeItem(last);
      localStorage.setItem(keyOf(task), JSON.stringify(own));
    }
    return { ...copy, own: Boolean(own) };
  } catch {
    return null;
  }
}

// The copies that cannot be read, as [key, text]. What has nothing but JSON's own signs in it holds nobody's words, and is
// removed; any other may hold somebody's, and stays until they remove it.
export function unread(task) {
  try {
    const found = keysOf(task).filter((key) => !read(key)).map((key) => [key, localStorage.getItem(key)]);
    const isEmpty = (text) => !text.replaceAll("null", "").replace(/[\s{}[\]",:]/g, "");
    for (const [key, text] of found) if (isEmpty(text)) localStorage.removeItem(key);
    return found.filter(([, text]) => !isEmpty(text));
  } catch {
    return [];
  }
}

export function remove(keys) {
  for (const key of keys) localStorage.removeItem(key);
}
