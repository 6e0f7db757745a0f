// Nothing is lost: each change is kept in the browser at once and sent a moment later; one request is under way at a time.
// A save names the version it was made from and carries a token: sent twice, also after a reload, it is stored once. The
// token names the writer and numbers the text: where the answer to a save is lost, and the next one so names an older
// version, the server sees that it is the same writer's, and no conflict.

import { contentOf, differences, field, fill } from "./form.js";
import { forget, keep, kept } from "./store.js";
import { offerUnread } from "./unread.js";
import { announce, clockTime, words } from "./words.js";

const SAVE_AFTER_MS = 400;
const SAVE_WITHIN_MS = 800; // however steadily somebody types
const RETRY_AFTER_MS = 5000;
const ANSWER_WITHIN_MS = 15_000; // else the server counts as silent
const KEEPALIVE_BYTES = 60_000; // browsers refuse to keep larger requests alive

class LoggedOut extends Error {}

async function post(url, data, signal) {
  const size = [...data].reduce((sum, [name, value]) => sum + new Blob([name, value]).size + 100, 0);
  // The token of the cookie is the present one, also after a login in another tab.
  const cookie = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1];
  const reply = await fetch(url, {
    method: "POST",
    body: data,
    headers: cookie ? { "X-CSRFToken": cookie } : {},
    redirect: "manual",
    signal,
    keepalive: size < KEEPALIVE_BYTES,
  });
  const isJson = (reply.headers.get("Content-Type") ?? "").startsWith("application/json");
  if (reply.type === "opaqueredirect" || (reply.status === 403 && !isJson)) throw new LoggedOut();
  // A refusal that is a page of its own would be the same again: such as a form that is too large.
  if (!isJson && reply.status >= 400 && reply.status < 500) return { status: 400, said: { error: words("rejected") } };
  if (!isJson || reply.status >= 500) throw new Error(`status ${reply.status}`);
  return { status: reply.status, said: await reply.json() };
}

export class Saving {
  // `go` takes the reply to a submission; `choose(reply)` shows both texts and resolves to "mine" or "theirs" or nothing;
  // `isOver(reply)` tells that the task can no longer be saved; `isComplete()` tells whether anything is missing, and
  // `missing()` leads to it.
  constructor({ root, form, signal, go, choose, isOver, isComplete, missing }) {
    Object.assign(this, { form, signal, go, choose, isOver, isComplete, missing });
    this.task = root.dataset.task;
    this.url = root.dataset.save;
    this.corrects = "corrects" in root.dataset;
    this.state = root.querySelector("#save-state");
    this.problem = root.querySelector("#problem");
    this.ask = root.querySelector("#ask");
    this.lost = root.querySelector("#lost"); // not where a label is corrected, or a key written
    this.stored = contentOf(form); // what the server has
    this.writer = crypto.randomUUID?.() ?? String(Math.random()).slice(2);
    this.texts = 0;
    this.unsavedSince = null; // when the first change was made that is not sent
    this.refused = null; // content that the server refused: it waits for a change
    this.request = null; // the one under way
    this.sent = null; // the content of a save that has no answer: the server may have it
    this.submitting = false;
    this.leaving = false; // a reload or a link was followed, and the next page is not there yet
    this.conflict = null;
    this.troubled = false;
    this.savedText = "";
    form.addEventListener("input", ({ target }) => {
      if (target.name !== "comment") this.ask.textContent = ""; // what it asks about may be different now
      this.changed();
    }, { signal });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    }, { signal });
    root.querySelector("#choose").addEventListener("click", () => this.decide(), { signal });
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.leave();
    }, { signal });
    window.addEventListener("beforeunload", () => { this.leaving = true; }, { signal });
    window.addEventListener("online", () => this.send(), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.timer));
    this.restore();
    offerUnread(root, this.task, signal);
    if (this.lost && !this.lost.hidden) announce(this.lost.textContent);
  }

  get pending() {
    const content = contentOf(this.form);
    return Math.max(...[this.stored, this.sent ?? this.stored].map((had) => differences(had, content).length));
  }

  show(kind, text) {
    this.state.className = `save-state push is-${kind}`;
    this.state.textContent = text;
  }

  trouble(text) {
    this.show("unsaved", text);
    if (this.told !== text) announce(text);
    this.told = text;
    this.troubled = true;
  }

  // `isStored`: the server has this as this version.
  keepHere(isStored = false) {
    const { form } = this;
    keep(this.task, {
      isStored,
      content: contentOf(form),
      version: field(form, "version").value,
      token: field(form, "token").value,
      seconds: field(form, "active_seconds").value,
    });
  }

  restore() {
    const copy = kept(this.task);
    if (!copy) return;
    const { form } = this;
    const isKnown = copy.isStored && Number(copy.version) <= Number(field(form, "version").value);
    if (isKnown || !differences(this.stored, copy.content).length || this.problem.textContent || form.querySelector(".comparison")) {
      forget(this.task);
      return;
    }
    fill(form, copy.content);
    const seconds = field(form, "active_seconds");
    seconds.value = Math.max(Number(seconds.value), Number(copy.seconds) || 0);
    form.dispatchEvent(new Event("input", { bubbles: true }));
    // With its token, a copy that did reach the server is known there. With an older version, the server answers with
    // both texts, and the annotator chooses.
    field(form, "version").value = copy.version;
    field(form, "token").value = copy.token;
    const [, writer, texts] = copy.own ? (/^(.+)\.(\d+)$/.exec(copy.token) ?? []) : [];
    if (writer) Object.assign(this, { writer, texts: Number(texts) });
    this.keepHere();
    announce(words("restored"));
  }

  // What is sent next is another text.
  renumber() {
    this.texts += 1;
    field(this.form, "token").value = `${this.writer}.${this.texts}`;
  }

  changed() {
    this.renumber();
    this.leaving = false;
    this.refused = null;
    this.problem.textContent = this.submitting ? words("changedSince") : "";
    this.submitting = false;
    this.keepHere();
    if (this.corrects) this.show("kept", words("here"));
    else if (!this.conflict) {
      if (!this.troubled) this.show("saving", words("saving"));
      this.unsavedSince ??= performance.now();
      this.later(Math.min(SAVE_AFTER_MS, this.unsavedSince + SAVE_WITHIN_MS - performance.now()));
    }
  }

  // The task is handed back: nothing more is sent, and nothing kept.
  giveUp() {
    this.conflict = {};
    clearTimeout(this.timer);
    forget(this.task);
  }

  later(milliseconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), milliseconds);
  }

  submit() {
    this.submitting = true;
    this.ask.textContent = "";
    if (this.conflict) this.decide();
    else this.send();
  }

  // The page may end now: what is newer than the save under way does not wait for its answer.
  leave() {
    if (this.request && differences(this.sent, contentOf(this.form)).length) {
      this.request.abort();
      this.request = null;
    }
    this.send();
  }

  async send() {
    const { form } = this;
    const submits = this.submitting;
    const content = contentOf(form);
    if (this.request || this.conflict || this.signal.aborted) return;
    if (!submits && (this.corrects || this.refused || !this.pending)) return;
    const request = new AbortController();
    this.request = request;
    this.sent = content;
    this.unsavedSince = null;
    clearTimeout(this.timer);
    if (!field(form, "token").value) this.renumber();
    this.keepHere();
    const data = new FormData(form);
    data.set("action", !submits ? "save" : this.corrects ? "correct" : "submit");
    if (!this.troubled) this.show("saving", words("saving"));
    // What was typed on while a submission is under way would be lost with its screen.
    const focused = document.activeElement;
    form.inert = submits;
    const late = setTimeout(() => request.abort(), ANSWER_WITHIN_MS);
    const done = () => {
      clearTimeout(late);
      if (!form.inert) return;
      form.inert = false;
      if (form.contains(focused)) focused.focus({ preventScroll: true });
    };
    let reply;
    try {
      reply = await post(this.url, data, request.signal).finally(done);
    } catch (error) {
      if (this.request === request) this.failed(error);
      return;
    }
    if (this.request !== request) return;
    this.request = null;
    this.sent = null;
    await this.understand(reply.status, reply.said, content, submits);
  }

  failed(error) {
    this.request = null;
    if (this.signal.aborted) return;
    if (this.submitting && !this.isComplete()) {
      this.submitting = false;
      this.problem.textContent = words("incomplete");
      this.missing();
    }
    const why = error instanceof LoggedOut ? "loggedOut" : navigator.onLine ? "unreachable" : "offline";
    const queued = this.submitting && why !== "loggedOut";
    this.trouble(queued ? words(`${why}Submit`) : words(why, { n: Math.max(this.pending, 1) }));
    this.later(RETRY_AFTER_MS);
  }

  async understand(status, said, content, submitted) {
    const { form } = this;
    if (status === 200 && said.next) {
      forget(this.task);
      this.go(said);
      return;
    }
    if (status === 200) {
      field(form, "version").value = said.version;
      this.stored = content;
      // The next page may have been made before this was stored.
      if (this.pending || this.leaving) this.keepHere(!this.pending);
      else forget(this.task);
      if (submitted) {
        this.renumber();
        this.submitting = false;
        this.ask.textContent = said.ask;
        // What it asks about is in view with it.
        form.querySelector("[name=score]:checked")?.closest(".scale-step").scrollIntoView({ block: "nearest" });
      }
      this.tellSeat(said.held);
      this.savedText = words("saved", { time: clockTime(said.saved_at ?? Date.now()) });
      this.show("saved", this.savedText);
      if (this.troubled) announce(words("online"));
      this.troubled = false;
      this.told = "";
      if (this.pending || this.submitting) this.later(0);
    } else if (status === 409) {
      this.conflict = said;
      this.trouble(words("conflict"));
      form.querySelector("#choose").hidden = false;
      if (said.same) this.resolve("mine");
      else this.decide();
    } else if (status === 410) {
      this.conflict = said;
      this.trouble(said.error);
      this.isOver(said, this);
    } else if (submitted) {
      this.submitting = false;
      this.renumber();
      this.problem.textContent = said.error;
      this.show("saved", this.savedText);
      this.missing();
      if (this.pending) this.later(0); // what is not complete is a draft all the same
    } else {
      this.refused = content;
      this.trouble(words("refused", { why: said.error }));
    }
  }

  // Whether the task is still held for who writes here; null where the server did not look.
  tellSeat(held) {
    if (!this.lost || held === null || this.lost.hidden === held) return;
    this.lost.hidden = held;
    if (!held) announce(this.lost.textContent);
  }

  async decide() {
    if (this.conflict.next) this.isOver(this.conflict, this);
    else this.resolve(await this.choose(this.conflict.comparison));
  }

  resolve(chosen) {
    if (chosen === "mine") {
      field(this.form, "version").value = this.conflict.version;
      this.renumber();
      this.conflict = null;
      this.troubled = false;
      this.form.querySelector("#choose").hidden = true;
      this.stored = {};
      this.keepHere();
      if (this.corrects && !this.submitting) this.show("kept", words("here"));
      else this.send();
    } else if (chosen === "theirs") {
      forget(this.task);
      location.reload();
    }
  }
}
