// Brings elements up to date in place, so that selected text, focus and scroll positions survive an update.

/** Sets the text only when it differs. */
export function setText(element, text) {
  if (element.textContent === text) return;
  if (element.firstChild?.nodeType === Node.TEXT_NODE && element.childNodes.length === 1) element.firstChild.data = text;
  else element.textContent = text;
}

export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Makes `place` hold what `wanted` describes, changing only what differs. */
export function morph(place, ...wanted) {
  wanted.forEach((next, index) => {
    const now = place.childNodes[index];
    if (now === undefined) place.append(next);
    else if (now.nodeType === Node.TEXT_NODE && typeof next === "string") {
      if (now.data !== next) now.data = next;
    } else if (typeof next !== "string" && now.nodeName === next.nodeName) {
      for (const { name } of [...now.attributes]) if (!next.hasAttribute(name)) now.removeAttribute(name);
      for (const { name, value } of next.attributes) if (now.getAttribute(name) !== value) now.setAttribute(name, value);
      morph(now, ...[...next.childNodes].map((child) => (child.nodeType === Node.TEXT_NODE ? child.data : child)));
    } else now.replaceWith(next);
  });
  while (place.childNodes.length > wanted.length) place.lastChild.remove();
}
