// What both scripts of the page need.

export const element = (name) => document.getElementById(name);

export function show(name, visible) {
  element(name).hidden = !visible;
}

export function message(words) {
  element("error").textContent = words;
}

// Browsers may forbid storage; then nothing is remembered.
export function keep(name, value) {
  try {
    localStorage.setItem(`glossa-${name}`, value);
  } catch {}
}

export function kept(name) {
  try {
    return localStorage.getItem(`glossa-${name}`);
  } catch {
    return null;
  }
}

export function wantedTheme() {
  return kept("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}
