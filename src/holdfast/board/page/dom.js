// Elements from data. Every text goes in as text, never as markup.

export function h(tag, props = {}, ...children) {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) one.addEventListener(name.slice(2), value);
    else if (name === "class") one.className = value;
    else if (name === "data") Object.assign(one.dataset, value);
    else if (name in one && name !== "list" && name !== "href") one[name] = value;
    else one.setAttribute(name, value === true ? "" : value);
  }
  one.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return one;
}

// A text in which `backticks` mark code.
export function marked(text) {
  return String(text ?? "").split(/`([^`]+)`/).map((part, at) => (at % 2 ? h("code", {}, part) : part));
}

export function put(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child != null && child !== false));
}

// Changes a text only where it differs: a selection in it survives.
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    button.textContent = "not allowed here";
  }
  setTimeout(() => { button.textContent = before; }, 1200);
}

export function announce(text) {
  const said = document.getElementById("said");
  said.textContent = text;
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => { said.textContent = ""; }, 4000);
}
