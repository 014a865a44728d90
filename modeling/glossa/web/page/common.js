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

async function ask(path, fields, signal) {
  const key = element("key").value;
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(key ? { ...fields, api_key: key } : fields),
    signal,
  });
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({ error: `The server answers with status ${response.status}.` }));
  throw new Error(answer.error);
}

// The answer of the server; an error has its message.
export async function post(path, fields, signal) {
  return (await ask(path, fields, signal)).json();
}

// The lines of an answer, each of them JSON, as they come.
export async function* lines(path, fields, signal) {
  const reader = (await ask(path, fields, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part);
  }
}
