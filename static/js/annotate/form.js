// The form as data: read, compared, filled again.

const BOOKKEEPING = new Set(["csrfmiddlewaretoken", "version", "token", "annotator", "active_seconds"]);

export const field = (form, name) => form.elements.namedItem(name);

// What is said, by field name. Empty fields are left out, so that "" and nothing are the same.
export function contentOf(form) {
  const said = [...new FormData(form)].filter(([name, value]) => value && !BOOKKEEPING.has(name));
  return Object.fromEntries(said.map(([name, value]) => [name, value.replaceAll("\r\n", "\n")]));
}

export function differences(one, other) {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => one[name] !== other[name]);
}

export function fill(form, content) {
  for (const input of form.elements) {
    if (BOOKKEEPING.has(input.name) || !input.name || input.type === "submit") continue;
    if (input.type === "radio") input.checked = content[input.name] === input.value;
    else if (input.type === "checkbox") input.checked = input.name in content;
    else input.value = content[input.name] ?? "";
  }
}
