// Shows the requests of the server from its OpenAPI document.

import { wantedTheme } from "../common.js";

const ROOT = new URL("../", document.baseURI);

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function kind(schema) {
  if (schema.oneOf) return schema.oneOf.map(kind).join(" or ");
  if (schema.enum) return schema.enum.join(" or ");
  if (schema.format === "binary") return "file";
  return schema.type === "array" ? `list of ${kind(schema.items ?? {})}` : schema.type ?? "any";
}

function fields(schema) {
  const table = element("table", "", { class: "fields" });
  const head = table.createTHead().insertRow();
  for (const title of ["Field", "Type", "Default", "Meaning"]) head.append(element("th", title, { scope: "col" }));
  const rows = table.createTBody();
  for (const [name, field] of Object.entries(schema.properties)) {
    const row = rows.insertRow();
    row.append(element("th", name, { scope: "row" }));
    const missing = (schema.required ?? []).includes(name) ? "required" : JSON.stringify(field.default) ?? "";
    for (const text of [kind(field), missing, field.description ?? ""]) row.append(element("td", text));
  }
  return table;
}

function example(path, method, body) {
  const address = new URL(path.slice(1), ROOT);
  if (method === "get") return `curl ${address}`;
  const schema = Object.values(body.content)[0].schema;
  const values = { q: "Good morning.", s: "Bonjour.", source: "en", target: "fr", inputs: "Good morning." };
  const given = schema.required.filter((name) => name in values);
  if ("multipart/form-data" in body.content)
    return `curl ${address} -F file=@page.html -F source=en -F target=fr`;
  const json = JSON.stringify(Object.fromEntries(given.map((name) => [name, values[name]])));
  return `curl ${address} -H 'Content-Type: application/json' -d '${json}'`;
}

async function show() {
  const answer = await fetch(new URL("spec", ROOT));
  if (!answer.ok) throw new Error(`The server returned status ${answer.status}.`);
  const specification = await answer.json();
  const place = document.getElementById("requests");
  for (const [path, methods] of Object.entries(specification.paths)) {
    for (const [method, request] of Object.entries(methods)) {
      const section = element("section", "", { class: "request" });
      section.append(element("h2", `${method.toUpperCase()} ${path}`), element("p", request.description ?? request.summary));
      const contents = Object.values(request.requestBody?.content ?? {});
      if (contents.length) section.append(fields(contents[0].schema));
      const command = element("pre", "", { tabindex: "0" });
      command.append(element("code", example(path, method, request.requestBody)));
      section.append(command);
      place.append(section);
    }
  }
}

document.documentElement.dataset.theme = wantedTheme();
show().catch((error) => { document.getElementById("error").textContent = error.message; });
