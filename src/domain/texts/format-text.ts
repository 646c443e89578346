import { maskSecrets } from "../platform/mask.ts";

/** A text in a fence that is longer than any run of backticks in it. */
export function fenceText(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** Head and tail of a long text, and how much is missing between them. */
export function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  const head = text.slice(0, half).toWellFormed();
  const tail = text.slice(-half).toWellFormed();
  return `${head}\n… [${text.length - 2 * half} characters cut] …\n${tail}`;
}

/** A sentence whose `{holes}` are filled. */
export function fillHoles(template: string, holes: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{(\w+)\}/g, (_, hole: string) => String(holes[hole] ?? ""));
}

/** A sentence, or how facts become one. */
export type Wording<Fact> = string | ((fact: Fact) => string);

export function wordFact<Fact>(words: Wording<Fact>, fact: Fact): string {
  return typeof words === "string" ? words : words(fact);
}

/** Words for each member of a union, by its code. */
export type WordTable<Key extends string, Fact extends Readonly<Record<Key, string>>> = {
  readonly [Code in Fact[Key]]: Wording<MemberOf<Fact, Key, Code>>;
};

type MemberOf<Fact extends Readonly<Record<Key, string>>, Key extends string, Code> = Fact extends unknown
  ? Code extends Fact[Key]
    ? Fact
    : never
  : never;

/** The words of a table for one of its facts; `unknown`: of a stored fact whose code only a newer version has. */
export function wordBy<Key extends string, Fact extends Readonly<Record<Key, string>>>(
  key: Key,
  table: WordTable<Key, Fact>,
  unknown: Wording<Fact> = "",
): (fact: Fact) => string {
  return (fact) => wordFact(table[fact[key]] ?? unknown, fact as never);
}

/** The words that a person types about a job: `/undo #4` in a chat, `picoclaw undo 4` in a shell, to which `#` begins a comment. */
export function jobOrder(
  at: "terminal" | "chat",
  order: "undo" | "redo" | "apply" | "diff" | "discard" | "stop",
  name: string,
): string {
  if (at === "chat") return `/${order} ${name}`;
  const job = name.replace(/(?<!\S)#(?=\d)/g, "");
  return `picoclaw ${{ apply: `apply --job ${job}`, diff: `show ${job} --diff` }[order as string] ?? `${order} ${job}`}`;
}

/** Why a job was rolled back, by its recorded reason: a code, or a code with a detail behind a colon. */
export const wordRollbackBy =
  (known: Readonly<Record<string, string>>) =>
  (reason: string): string => {
    const [, code = "", detail = ""] = /^(\w+)(?:: (.*))?$/s.exec(reason) ?? [];
    const words = known[reason] ?? known[code];
    if (words === undefined || detail === "") return words ?? reason;
    if (known[detail] !== undefined) return known[detail];
    // Its detail is the sentence of who could not answer, and why.
    return code === "unanswered" ? detail : `${words}: ${detail}`;
  };

/** The state of a task of either kind, with the phase of one that runs: `running: verify ⏸`. */
export const wordTaskStateBy =
  (states: Readonly<Record<string, string>>, phases: Readonly<Record<string, string>>) =>
  (state: string): string => {
    const [name = "", phase = ""] = state.replace(/ ⏸$/, "").split(": ");
    const [words, step] = [states[name] ?? name, phases[phase]];
    return `${step === undefined ? words : `${words}: ${step}`}${state.endsWith(" ⏸") ? " ⏸" : ""}`;
  };

/** `1 file`, `2 files`. */
export function many(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`;
}

/** `slack` → `Slack`: a service by the name of its channel. */
export function capitalize(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/** The variables that a forge's token is read from: GITHUB_TOKEN too, unless the configuration names another one. */
export function tokenVariables(variable: string, or: string): string {
  return variable === "GITHUB_PERSONAL_ACCESS_TOKEN" ? `GITHUB_TOKEN${or}${variable}` : variable;
}

/** `3,100`; the runtime's own formats load its table of languages. */
export function thousands(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** `200000` → `200k`, `1000000` → `1M`. */
export function formatTokens(tokens: number): string {
  return tokens < 1_000_000 ? `${Math.round(tokens / 1000)}k` : `${Number((tokens / 1_000_000).toFixed(1))}M`;
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Rows as CSV; a text that a spreadsheet would take for a formula is one no more. */
export function csvText(rows: readonly (readonly (string | number)[])[]): string {
  const cell = (value: string | number) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${rows.map((row) => row.map(cell).join(",")).join("\n")}\n`;
}

/** `1536` → `1.5 KiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

/** A day with its weekday and a time of day in a zone, as a language writes them. */
export function formatMoment(
  at: string,
  timeZone: string,
  language: string,
  month: "short" | "numeric",
): string {
  const [time, day] = ["2-digit", "numeric"] as const;
  const shown = { weekday: "short", day, month, year: day, hour: time, minute: time } as const;
  return new Date(at).toLocaleString(language, { timeZone, ...shown });
}

/** `2026-03-01 09:30:05` in the zone of this machine. */
export function localTime(iso: string): string {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? iso : at.toLocaleString("sv");
}

/** Characters that would end a line, steer a terminal or change the reading direction. */
const UNSEEN = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** A path in one line, as people read it: a line end in a name cannot pass for a line of the report, nor a key for a name. */
export function shownPath(path: string): string {
  return maskSecrets(path).replace(UNSEEN, (character) => {
    const code = character.charCodeAt(0);
    if (character === "\n") return "\\n";
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

const MOST_LISTED_PATHS = 20;

/** Paths under one another, two spaces in; past twenty, `more` words the rest. */
export function listPaths(paths: readonly string[], more: (rest: number) => string): string {
  const lines = paths.slice(0, MOST_LISTED_PATHS).map((path) => `\n  ${shownPath(path)}`);
  if (paths.length > MOST_LISTED_PATHS) lines.push(`\n  ${more(paths.length - MOST_LISTED_PATHS)}`);
  return lines.join("");
}

const MOST_NAMED_PATHS = 5;

/** The first paths of `count`, in one line; `more` words the rest. */
export function namePaths(paths: readonly string[], count: number, more: (rest: number) => string): string {
  const shown = paths.slice(0, MOST_NAMED_PATHS).map(shownPath);
  return [...shown, ...(count > shown.length ? [more(count - shown.length)] : [])].join(", ");
}

const MOST_NAMES = 10;

/** Names in one line; past ten, `more` words the rest. */
export function nameFew(names: readonly string[], more: (rest: number) => string): string {
  const rest = names.length - MOST_NAMES;
  return [...names.slice(0, MOST_NAMES), ...(rest > 0 ? [more(rest)] : [])].join(", ");
}

/** Where a text may be cut, best first: between paragraphs, lines, sentences, words. */
const CUTS = [/\n\n+/g, /\n/g, /[。！？]|[.!?](?=\s)/g, /[、,;\s]/g] as const;

/**
 * Cuts a text into pieces of at most `limit` UTF-16 units, each at the best place in its second half, never inside a
 * surrogate pair. An open code fence is closed at the cut and opened again after it.
 */
export function splitText(text: string, limit: number): string[] {
  const pieces: string[] = [];
  let rest = text;
  let fence = "";
  // Room for the marks that a cut adds.
  const room = /^ {0,3}(?:`{3}|~{3})/m.test(text) ? limit - FENCE_ROOM : limit;
  while (rest.length > limit) {
    const at = cutAt(rest, room);
    const piece = rest.slice(0, at).trimEnd();
    fence = openFence(piece);
    pieces.push(fence === "" ? piece : `${piece}\n${fence.replace(/[^`~].*$/, "")}`);
    rest = rest.slice(at).replace(fence === "" ? /^\s+/ : /^\n/, "");
    if (fence !== "") rest = `${fence}\n${rest}`;
  }
  if (rest.trim() !== "") pieces.push(rest);
  return pieces;
}

const FENCE_ROOM = 80;

function cutAt(text: string, limit: number): number {
  const half = Math.floor(limit / 2);
  const window = text.slice(0, limit);
  for (const cut of CUTS) {
    let best = -1;
    for (const match of window.matchAll(cut)) {
      const end = match.index + match[0].length;
      if (end > half && end <= limit) best = end;
    }
    if (best > 0) return best;
  }
  const code = text.charCodeAt(limit - 1);
  return code >= 0xd800 && code <= 0xdbff ? limit - 1 : limit;
}

/** The line that opened a fence which the piece does not close; empty when none is open. */
function openFence(piece: string): string {
  let open = "";
  for (const line of piece.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark === undefined) continue;
    if (open === "") open = line.trim().slice(0, FENCE_ROOM / 2);
    else if (mark[0] === open[0] && mark.length >= (/^[`~]+/.exec(open)?.[0].length ?? 0)) open = "";
  }
  return open;
}

/** Of calls some of which have no known price: `–` where none has, else at least what is known. Cents, and less where it is less. */
export function formatCost(usd: number, isUnpriced: boolean): string {
  if (isUnpriced && usd === 0) return "–";
  return `${isUnpriced ? "≥" : ""}$${usd.toFixed(usd > 0 && usd < 0.1 ? 4 : 2)}`;
}

const JETBRAINS: ReadonlySet<string> = new Set([
  "idea",
  "pycharm",
  "webstorm",
  "goland",
  "phpstorm",
  "rider",
  "clion",
  "rubymine",
]);

/** The address that opens a file at a line in an editor of this machine; the editor by the scheme of its addresses. */
export function editorAddress(editor: string, file: string, line: number): string {
  if (JETBRAINS.has(editor)) return `${editor}://open?file=${encodeURIComponent(file)}&line=${line}`;
  return `${editor}://file${file.split("/").map(encodeURIComponent).join("/")}:${line}`;
}

/** A shell script is shown by its first significant line. */
export function oneLine(target: string): string {
  const trimmed = target.trim();
  const end = trimmed.search(/\r?\n/);
  return end === -1 ? trimmed : `${trimmed.slice(0, end).trimEnd()} …`;
}
