// Stores the page, so that it works without a connection.
const STORE = "glossa-page";

addEventListener("install", (event) => event.waitUntil(storeAll().then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

async function storeAll() {
  const { offline } = await (await fetch("model.json")).json();
  const store = await caches.open(STORE);
  await store.addAll(["./", "model.json", ...offline]);
}

addEventListener("fetch", (event) => {
  if (event.request.method === "GET") event.respondWith(newest(event.request));
});

async function newest(request) {
  const store = await caches.open(STORE);
  try {
    const response = await fetch(request);
    if (response.ok) await store.put(request, response.clone());
    return response;
  } catch (error) {
    const cached = await store.match(request, { ignoreSearch: true });
    if (cached) return cached;
    throw error;
  }
}
