// Functions for all scripts of the page.

export const element = (name) => document.getElementById(name);

export function show(name, visible) {
  element(name).hidden = !visible;
}

export function message(words) {
  element("error").textContent = words;
}

// Browsers may forbid storage. Then nothing is saved.
export function store(name, value) {
  try {
    localStorage.setItem(`glossa-${name}`, value);
  } catch {}
}

export function stored(name) {
  try {
    return localStorage.getItem(`glossa-${name}`);
  } catch {
    return null;
  }
}

export function wantedTheme() {
  return stored("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}
