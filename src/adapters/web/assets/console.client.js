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

/** The server's last content of a part: unfolding or streaming since does not count as a change. */
const drawn = new WeakMap();
const folds = (part) =>
  [...part.querySelectorAll("details")].map((one, n) => [one.dataset.src ?? String(n), one]);

function replaceParts(page) {
  for (const part of document.querySelectorAll("[data-part]")) {
    const fresh = page.getElementById(part.id);
    if (fresh === null || fresh.innerHTML === drawn.get(part)) continue;
    drawn.set(part, fresh.innerHTML);
    const follow = isAtEnd(part);
    const open = new Map(folds(part).map(([key, one]) => [key, one.open]));
    part.replaceChildren(...fresh.childNodes);
    if (fresh.dataset.every) part.dataset.every = fresh.dataset.every;
    for (const [key, one] of folds(part)) if (open.has(key)) one.open = open.get(key);
    dress(part);
    for (const lines of part.querySelectorAll("[data-lines]")) toEnd(lines);
    if (follow) toEnd(part);
  }
  const live = document.getElementById("live");
  const fresh = page.getElementById("live");
  if (live && fresh) live.hidden = fresh.hidden && live.querySelector("pre").textContent === "";
  const event = document.querySelector(".composer [name=event]");
  if (event) event.value = page.querySelector(".composer [name=event]")?.value ?? event.value;
}

const unfolded = new Map();

/** Fetches the difference of a file when its name is opened. */
async function unfold(details) {
  const slot = details.querySelector("[data-slot]");
  const { src } = details.dataset;
  if (!slot || slot.dataset.slot === "full") return;
  if (!unfolded.has(src)) {
    const response = await fetch(src, { headers: { accept: "text/html" } }).catch(() => null);
    if (!response?.ok) return;
    unfolded.set(src, await response.text());
  }
  slot.dataset.slot = "full";
  slot.replaceChildren(...new DOMParser().parseFromString(unfolded.get(src), "text/html").body.childNodes);
}
document.addEventListener(
  "toggle",
  (event) => {
    if (event.target.open && event.target.dataset?.src) unfold(event.target);
  },
  true,
);

/** Code gets a button that copies it. */
function dress(part) {
  const { copy, copied } = part.dataset;
  if (!copy) return;
  for (const code of part.querySelectorAll("pre.code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet copy";
    button.textContent = copy;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.querySelector("code").textContent);
      button.textContent = copied;
    });
    const frame = document.createElement("div");
    frame.className = "code-frame";
    code.replaceWith(frame);
    frame.append(code, button);
  }
}

const isAtEnd = (part) => part.scrollHeight - part.scrollTop - part.clientHeight < 80;
const toEnd = (part) => {
  part.scrollTop = part.scrollHeight;
};

function listen(place) {
  const stream = new EventSource(place.dataset.live);
  stream.addEventListener("open", () => {
    say(null);
    // Events between the drawing of the page and the beginning of the stream.
    refresh();
  });
  stream.addEventListener("error", () => say(lostText));
  stream.addEventListener("changed", refresh);
  stream.addEventListener("work", (event) => {
    const { message, face, style, now, cost, html } = JSON.parse(event.data);
    const slot = pending(message);
    if (!slot) return;
    const log = document.getElementById("log");
    const follow = log && isAtEnd(log);
    for (const [name, text] of Object.entries({ face, now, cost })) {
      const one = slot.querySelector(`[data-${name}]`);
      if (one.textContent !== text) one.textContent = text;
    }
    slot.querySelector("[data-face]").className = `seal ${style}`;
    const work = slot.querySelector("[data-work]");
    const isOpen = work.querySelector("details")?.open;
    work.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
    if (isOpen && work.querySelector("details")) work.querySelector("details").open = true;
    // The newest line is the one that is looked for.
    for (const lines of work.querySelectorAll("[data-lines]")) toEnd(lines);
    if (follow) toEnd(log);
  });
  /** `tail`: the output so far; `output`: what follows it. */
  const print = ({ type, data }) => {
    const slot = document.querySelector("[data-output]");
    const { text } = JSON.parse(data);
    if (!slot || text === "") return;
    document.getElementById("live").hidden = false;
    const all = type === "tail" ? text : slot.textContent + text;
    slot.textContent = all.length > 200000 ? all.slice(-100000) : all;
    toEnd(slot);
  };
  stream.addEventListener("tail", print);
  stream.addEventListener("output", print);
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

// Parts without a stream are read again after a while, as often as the page states.
const readAgain = async () => {
  const part = document.querySelector("[data-every]");
  if (!part) return;
  await new Promise((done) => setTimeout(done, Number(part.dataset.every) * 1000));
  if (!document.hidden) await refresh();
  readAgain();
};
readAgain();

for (const part of document.querySelectorAll("[data-part]")) {
  drawn.set(part, part.innerHTML);
  dress(part);
}

const log = document.getElementById("log");
if (log) {
  toEnd(log);
  const since = new WeakMap();
  setInterval(() => {
    for (const slot of log.querySelectorAll("[data-elapsed]")) {
      if (slot.textContent === "") continue;
      if (!since.has(slot)) since.set(slot, Date.now() - Number(slot.dataset.elapsed) * 1000);
      const seconds = Math.floor((Date.now() - since.get(slot)) / 1000);
      slot.textContent = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    }
  }, 1000);
  // A chip or a button of a reply is a message: it is sent without a reload.
  log.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("[data-say]")) return;
    event.preventDefault();
    const button = form.querySelector("button");
    if (button.disabled) return;
    button.disabled = true;
    const body = new URLSearchParams(new FormData(form));
    try {
      const response = await fetch(form.action, { method: "POST", body, redirect: "manual" });
      if (response.type === "opaqueredirect" || response.ok) await refresh();
      else say(decodeURIComponent(response.headers.get("x-notice") ?? String(response.status)));
    } catch {
      say(lostText);
    }
    button.disabled = false;
    toEnd(log);
  });
}

/** Offers the commands that begin with what was typed, and files after an `@`; arrows choose, Tab or Enter takes, Escape closes. */
function suggest(text, list) {
  const all = [...list.children];
  let shown = [];
  let at = 0;
  let asked = 0;
  const mark = () => {
    for (const one of list.children) one.setAttribute("aria-selected", String(one === shown[at]));
    if (shown.length === 0) text.removeAttribute("aria-activedescendant");
    else text.setAttribute("aria-activedescendant", shown[at].id);
    shown[at]?.scrollIntoView({ block: "nearest" });
  };
  const draw = () => {
    const typed = text.value;
    const asks = /^\/[a-z0-9-]*$/.test(typed);
    const isWhole = all.some((one) => one.dataset.value === typed);
    shown = asks && !isWhole ? all.filter((one) => one.dataset.value.startsWith(typed)) : [];
    offer();
    const word = fileWord();
    asked += 1;
    if (word !== null) offerFiles(word, asked);
  };
  const offer = () => {
    for (const one of [...list.children]) {
      one.hidden = !shown.includes(one);
      if (one.hidden && !all.includes(one)) one.remove();
    }
    list.hidden = shown.length === 0;
    at = 0;
    mark();
  };
  /** The text behind an `@` before the caret. */
  const fileWord = () => /(?:^|\s)@([^\s@]*)$/.exec(text.value.slice(0, text.selectionStart))?.[1] ?? null;
  const offerFiles = async (word, number) => {
    const response = await fetch(`/files?q=${encodeURIComponent(word)}`).catch(() => null);
    const paths = response?.ok ? await response.json() : [];
    // More was typed meanwhile.
    if (number !== asked) return;
    shown = paths.map((path, n) => {
      const one = document.createElement("li");
      one.setAttribute("role", "option");
      one.id = `file-${n}`;
      one.dataset.value = path;
      const code = document.createElement("code");
      code.textContent = path;
      one.append(code);
      return one;
    });
    list.append(...shown);
    offer();
  };
  const take = (one) => {
    const word = fileWord();
    if (all.includes(one) || word === null) text.value = `${one.dataset.value} `;
    else {
      const end = text.selectionStart;
      text.setRangeText(`${one.dataset.value} `, end - word.length - 1, end, "end");
    }
    text.focus();
    draw();
  };
  text.addEventListener("input", draw);
  text.addEventListener("blur", () => {
    list.hidden = true;
  });
  text.addEventListener("keydown", (event) => {
    if (list.hidden || event.isComposing || event.keyCode === 229) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      at = (at + (event.key === "ArrowDown" ? 1 : shown.length - 1)) % shown.length;
      mark();
    } else if (event.key === "Tab" || event.key === "Enter") take(shown[at]);
    else if (event.key === "Escape") list.hidden = true;
    else return;
    event.preventDefault();
  });
  // Before the text loses the focus.
  list.addEventListener("pointerdown", (event) => {
    const one = event.target.closest("li");
    event.preventDefault();
    if (one) take(one);
  });
}

const composer = document.querySelector("[data-composer]");
if (composer) {
  const text = composer.querySelector("textarea");
  text.setSelectionRange(text.value.length, text.value.length);
  suggest(text, document.getElementById("commands"));
  text.addEventListener("keydown", (event) => {
    // While Japanese is being composed, Enter chooses a word.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    if (event.defaultPrevented) return;
    event.preventDefault();
    composer.requestSubmit();
  });
  const files = composer.querySelector("[type=file]");
  const names = composer.querySelector("[data-files]");
  const keepFiles = (list) => {
    const kept = new DataTransfer();
    for (const file of list) kept.items.add(file);
    files.files = kept.files;
    nameFiles();
  };
  const nameFiles = () => {
    const chips = [...files.files].map((file) => {
      const chip = document.createElement("span");
      chip.className = "chip";
      const remove = document.createElement("button");
      remove.type = "button";
      remove.textContent = "×";
      remove.setAttribute("aria-label", `${names.dataset.remove}: ${file.name}`);
      remove.addEventListener("click", () => {
        keepFiles([...files.files].filter((other) => other !== file));
        text.focus();
      });
      chip.append(file.name, " ", remove);
      return chip;
    });
    names.replaceChildren(...chips);
    names.hidden = chips.length === 0;
  };
  const addFiles = (more) => keepFiles([...files.files, ...more]);
  files.addEventListener("change", nameFiles);
  text.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    addFiles(event.clipboardData.files);
  });
  // A file that is dropped anywhere on the page is meant for the message; without this the browser would leave the page.
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    composer.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) composer.classList.remove("dropping");
  });
  addEventListener("drop", (event) => {
    composer.classList.remove("dropping");
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    addFiles(event.dataTransfer.files);
    text.focus();
  });
  const stopButton = () => document.querySelector(".pending form button");
  text.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.keyCode === 229) return;
    // As in a terminal: Escape stops what runs, an arrow up on an empty line brings the last message back.
    if (event.key === "Escape" && text.value === "" && stopButton()) stopButton().click();
    else if (event.key === "ArrowUp" && text.value === "") {
      const said = [...document.querySelectorAll("#log .bubble")].at(-1)?.textContent ?? "";
      if (said === "") return;
      text.value = said;
      text.setSelectionRange(said.length, said.length);
    } else return;
    event.preventDefault();
  });
  // From anywhere on the page a slash begins a command.
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    text.focus();
    if (text.value === "") {
      text.value = "/";
      text.dispatchEvent(new Event("input"));
    }
  });
  composer.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (text.value.trim() === "" && files.files.length === 0) return;
    const body = new FormData(composer);
    text.value = "";
    document.getElementById("commands").hidden = true;
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

/** A sheet over the page closes when the user acts elsewhere. */
const overlays = () => document.querySelectorAll("details:is(.menu, .more, .info)[open]");
document.addEventListener("click", (event) => {
  for (const details of overlays()) if (!details.contains(event.target)) details.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const details of overlays()) details.open = false;
});
