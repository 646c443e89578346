// Live parts of the console. Every page reads well without this; what is drawn anew comes ready-made from the server.

const offline = document.querySelector(".offline");
const lostText = offline?.textContent;

/** A word at the corner of the window; without one it goes. */
function say(text) {
  offline.textContent = text ?? "";
  offline.hidden = text === null;
}

/** Reads this page again and puts its live parts in place of the old ones. */
const refresh = (() => {
  let running = false;
  let again = false;
  return async function refresh() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      const response = await fetch(location.href, { headers: { accept: "text/html" } });
      if (response.status === 401) location.reload();
      if (response.ok) replaceParts(new DOMParser().parseFromString(await response.text(), "text/html"));
    } catch {
      // The stream says when the server is back.
    } finally {
      running = false;
      if (again) {
        again = false;
        refresh();
      }
    }
  };
})();

function replaceParts(page) {
  for (const part of document.querySelectorAll("[data-part]")) {
    const fresh = page.getElementById(part.id);
    if (fresh === null || fresh.innerHTML === part.innerHTML) continue;
    const follow = isAtEnd(part);
    const open = [...part.querySelectorAll("details")].map((one) => one.open);
    part.replaceChildren(...fresh.childNodes);
    if (fresh.dataset.every) part.dataset.every = fresh.dataset.every;
    for (const [n, one] of [...part.querySelectorAll("details")].entries())
      if (open[n] !== undefined) one.open = open[n];
    if (follow) toEnd(part);
  }
  const live = document.getElementById("live");
  const fresh = page.getElementById("live");
  if (live && fresh) live.hidden = fresh.hidden && live.querySelector("pre").textContent === "";
  const event = document.querySelector(".composer [name=event]");
  if (event) event.value = page.querySelector(".composer [name=event]")?.value ?? event.value;
}

const isAtEnd = (part) => part.scrollHeight - part.scrollTop - part.clientHeight < 80;
const toEnd = (part) => {
  part.scrollTop = part.scrollHeight;
};

function listen(place) {
  const stream = new EventSource(place.dataset.live);
  stream.addEventListener("open", () => {
    say(null);
    // What happened between the drawing of the page and the beginning of the stream.
    refresh();
  });
  stream.addEventListener("error", () => say(lostText));
  stream.addEventListener("changed", refresh);
  stream.addEventListener("now", (event) => {
    const { message, text } = JSON.parse(event.data);
    const slot = pending(message)?.querySelector("[data-now]");
    if (slot) slot.textContent = text;
  });
  stream.addEventListener("text", (event) => {
    const { message, text } = JSON.parse(event.data);
    const slot = pending(message)?.querySelector("[data-stream]");
    const log = document.getElementById("log");
    const follow = log && isAtEnd(log);
    if (slot) slot.append(text);
    if (follow) toEnd(log);
  });
  stream.addEventListener("tail", (event) => {
    const slot = document.querySelector("[data-output]");
    const { text } = JSON.parse(event.data);
    if (!slot || text === "") return;
    document.getElementById("live").hidden = false;
    slot.textContent = text;
    toEnd(slot);
  });
  stream.addEventListener("output", (event) => {
    const slot = document.querySelector("[data-output]");
    if (!slot) return;
    document.getElementById("live").hidden = false;
    slot.append(JSON.parse(event.data).text);
    if (slot.textContent.length > 200000) slot.textContent = slot.textContent.slice(-100000);
    toEnd(slot);
  });
  addEventListener("pagehide", () => stream.close());
}

// Times are shown in the reader's zone: the server is told it once.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const told = () => document.cookie.split("; ").includes(`picoclaw_zone=${zone}`);
if (zone && !told()) {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store is not in every browser.
  document.cookie = `picoclaw_zone=${zone}; path=/; max-age=31536000; samesite=strict`;
  if (told() && document.querySelector("time")) location.reload();
}

const pending = (id) => document.querySelector(`[data-message="${CSS.escape(id)}"]`);

const place = document.querySelector("[data-live]");
if (place) listen(place);

// What no stream tells is read again after a while, as often as the page says by then.
const readAgain = async () => {
  const part = document.querySelector("[data-every]");
  if (!part) return;
  await new Promise((done) => setTimeout(done, Number(part.dataset.every) * 1000));
  if (!document.hidden) await refresh();
  readAgain();
};
readAgain();

const log = document.getElementById("log");
if (log) toEnd(log);

const composer = document.querySelector("[data-composer]");
if (composer) {
  const text = composer.querySelector("textarea");
  text.setSelectionRange(text.value.length, text.value.length);
  text.addEventListener("keydown", (event) => {
    // While Japanese is being composed, Enter chooses a word.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    composer.requestSubmit();
  });
  const files = composer.querySelector("[type=file]");
  const names = composer.querySelector("[data-files]");
  const nameFiles = () => {
    names.textContent = [...files.files].map((file) => file.name).join(", ");
  };
  files.addEventListener("change", nameFiles);
  text.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length === 0) return;
    files.files = event.clipboardData.files;
    nameFiles();
  });
  composer.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (text.value.trim() === "" && files.files.length === 0) return;
    const body = new FormData(composer);
    text.value = "";
    try {
      const response = await fetch(composer.action, { method: "POST", body, redirect: "manual" });
      if (response.type === "opaqueredirect" || response.ok) {
        say(null);
        files.value = "";
        nameFiles();
        await refresh();
      } else {
        text.value = body.get("text");
        say(decodeURIComponent(response.headers.get("x-notice") ?? String(response.status)));
      }
    } catch {
      text.value = body.get("text");
      say(lostText);
    }
    toEnd(log);
    text.focus();
  });
}

for (const details of document.querySelectorAll("details.menu, details.more"))
  document.addEventListener("click", (event) => {
    if (!details.contains(event.target)) details.open = false;
  });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape")
    for (const details of document.querySelectorAll("details.menu[open], details.more[open]"))
      details.open = false;
});
