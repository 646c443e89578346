import { type Route, readRoute } from "../config/configured-kinds.ts";
import { isJsonObject } from "../platform/json-members.ts";
import { maySchedule } from "./schedule-sentence.ts";

export interface SlashCommand {
  /** Lower case, without the slash: `code3`, `undo`. */
  readonly name: string;
  /** The text that follows, unchanged except for the space between. */
  readonly rest: string;
}

/** A slash, half or full width, then a word that ends where white space begins. */
const COMMAND = /^[\s\u3000\ufeff\u200b]*[/／]([A-Za-z0-9_\-Ａ-Ｚａ-ｚ０-９]+)(?:[\s\u3000]+(.*))?$/su;

/** The first token of a message, when it is a command. `/code30` is another word than `/code3`. */
export function readSlashCommand(message: string): SlashCommand | undefined {
  const found = COMMAND.exec(message);
  if (found === null) return undefined;
  return { name: found[1]!.normalize("NFKC").toLowerCase(), rest: (found[2] ?? "").trim() };
}

/** `picoclaw undo 3`, typed into a conversation instead of a shell: the command by its name. */
export function readShellLine(message: string): SlashCommand | undefined {
  const [, name, rest = ""] = /^\s*(?:\$\s*)?picoclaw\s+([a-z]+)(?:[^\S\n]+(.*))?\s*$/.exec(message) ?? [];
  return name === undefined ? undefined : { name, rest: rest.trim() };
}

/** `/code3 …` names a route; `/coder`, `/code30` and `/undo` do not. */
export function readExplicitRoute(message: string): { route: Route; rest: string } | undefined {
  const command = readSlashCommand(message);
  const route = command && readRoute(command.name);
  return command && route ? { route, rest: command.rest } : undefined;
}

/** The parts of a file's head that are ignored: a route that does not exist, or lines that are not fields. */
export type OwnTrouble =
  | { readonly why: "route"; readonly route: string }
  | { readonly why: "unclosed" }
  | { readonly why: "line"; readonly line: string };

export interface OwnCommandText {
  /** One line; empty where the file says nothing. */
  readonly description: string;
  /** The route that answers it; null: the message is routed like any other. */
  readonly route: Route | null;
  readonly body: string;
  /** The unusable part of its head; the rest works. */
  readonly trouble: OwnTrouble | null;
}

/** The value of a YAML text; undefined where the text is not YAML. */
export type ReadYaml = (text: string) => unknown;

const FRONT_MATTER = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
const DESCRIPTION_CHARACTERS = 200;

/** A file of Markdown with `description:` and `route:` between two lines of `---` at its beginning, or without. */
export function readOwnCommand(text: string, readYaml: ReadYaml): OwnCommandText {
  const front = FRONT_MATTER.exec(text);
  const { fields, broken } = readHead(front?.[1] ?? "", readYaml);
  const body = text.slice(front?.[0].length ?? 0).trim();
  const named = fields.get("route") ?? "";
  const route = readRoute(named) ?? null;
  const unknown = route === null && named !== "" ? ({ why: "route", route: named } as const) : null;
  const unread = broken === null ? null : ({ why: "line", line: broken } as const);
  const isUnclosed = front === null && /^---[ \t]*\r?\n[ \t]*[\w-]+[ \t]*:/.test(text);
  return {
    description: (fields.get("description") ?? "").slice(0, DESCRIPTION_CHARACTERS),
    route,
    body,
    trouble: isUnclosed ? { why: "unclosed" } : (unread ?? unknown),
  };
}

/** Each field is read by itself, so that one that cannot be read does not take the others along. */
function readHead(head: string, readYaml: ReadYaml) {
  const fields = new Map<string, string>();
  let broken: string | null = null;
  // An indented line, a list entry or a comment belongs to the field above.
  for (const block of head.split(/\r?\n(?=[^\s#-])/)) {
    if (firstLine(block) === "") continue;
    const field = readYaml(block) ?? proseField(block);
    for (const [name, value] of isJsonObject(field) ? Object.entries(field) : []) {
      const key = name.toLowerCase();
      // A description of `1.10` is not the number 1.1.
      const text =
        typeof value === "string" || (typeof value === "object" && value !== null)
          ? value
          : (proseField(block)?.[name] ?? "").replace(/\s#.*/, "");
      if (typeof text === "string") fields.set(key, text.replace(/\s+/g, " ").trim());
      else if (key === "description" || key === "route") broken ??= firstLine(block);
    }
    if (!isJsonObject(field)) broken ??= firstLine(block);
  }
  return { fields, broken };
}

/** YAML refuses a second colon in a plain text, but people write "Use it when: …". */
function proseField(block: string): Record<string, string> | undefined {
  const [, name, value] = /^([\w-]+):[ \t]+([^\s\-?:,[\]{}#&*!|>'"%@`].*?)\s*$/.exec(block) ?? [];
  return name === undefined || value === undefined ? undefined : { [name]: value };
}

function firstLine(block: string): string {
  const line = block.split(/\r?\n/).find((each) => /^\s*[^\s#]/.test(each)) ?? "";
  return line.slice(0, DESCRIPTION_CHARACTERS);
}

/** `$ARGUMENTS` is all that was typed, `$1` to `$9` its words; a text without either gets the arguments at its end. */
export function fillOwnCommand(body: string, rest: string): string {
  const words = rest.split(/\s+/).filter((word) => word !== "");
  const hasPlace = /\$(?:ARGUMENTS\b|[1-9])/.test(body);
  // One pass: what was typed is never read for places again.
  const filled = body.replace(/\$(?:(ARGUMENTS)\b|([1-9]))/g, (_, all, n) =>
    all !== undefined ? rest : (words[Number(n) - 1] ?? ""),
  );
  return hasPlace || rest === "" ? filled : `${filled}\n\n${rest}`;
}

/** Adds a skill to a request, behind the request, which is the work to be done. */
export function withSkill(name: string, body: string, rest: string): string {
  return [rest, `# Skill: ${name}\n${body}`].filter((part) => part !== "").join("\n\n");
}

/** `/code plan …`: what is to be planned before anything is written; null for any other request. */
export function readPlanFirst(text: string): string | null {
  return /^(?:plan|プラン|計画)(?:[:：\s\u3000]+)(\S.*)$/isu.exec(text.trim())?.[1] ?? null;
}

/** `/code all …`: what every coder is to try, each by itself; null for any other request. */
export function readAllCoders(text: string): string | null {
  return /^(?:all|全員)(?:[:：\s\u3000]+)(\S.*)$/isu.exec(text.trim())?.[1] ?? null;
}

export function isGo(text: string): boolean {
  return /^(?:go|go ahead|実行(?:して)?|進めて|やって)[.!。！]?$/iu.test(text.trim().normalize("NFKC"));
}

/** Routes of coders that rules divide work among; `CODE` is the default coder. */
export type CoderRoute = Extract<Route, "CODE" | "CODE1" | "CODE2">;

/** Design and architecture: Aka's. */
const DESIGN_TASK =
  /(?:設計|仕様書?(?:を|の)?(?:策定|作成|起草|書[いき]|まとめ|起こし|作っ)|アーキテクチャ|モジュール(?:分割|構成)|レイヤー?(?:構成|分け|分割)|構成を(?:見直|整理|考え))|\b(?:architect(?:ure|ural)?|re-?design|module boundar(?:y|ies)|layering|data model|api design|(?:write|draft|draw up) (?:an?|the|our) (?:[a-z]+ )?spec(?:ification)? (?:for|of)|define (?:an?|the|our) (?:[a-z]+ ){0,2}spec(?:ification)?|design (?:the|an?|our) [a-z -]{0,30}(?:api|schema|module|layer|system|interface|architecture|model))\b/iu;

/** Tests, and code that is small: Ao's. */
const SMALL_TASK =
  /テスト(?:コード|ケース)?(?:を|も|の)?(?:.{0,8})(?:追加|書い|書き|作成|作っ|増や|足し|拡充)|(?:誤字|タイポ|コメント|ドキュメンテーション).{0,12}(?:直|修正|追加|書)|ワンライナー|\b(?:add|write|create|extend|generate)\b.{0,40}\b(?:tests?|test cases?|specs?)\b|\b(?:typos?|doc ?strings?|one-?liner|snippet|small helper)\b/iu;

/** Chooses the coder by the subject of the message, where the user named none. */
export function divideCode(text: string): CoderRoute {
  if (DESIGN_TASK.test(text)) return "CODE1";
  return SMALL_TASK.test(text) ? "CODE2" : "CODE";
}

/** Words of courtesy that may stand before a request. */
const BEFORE_EN =
  /^(?:(?:please|pls|can you|could you|would you|now|ok|okay|then|and|great|nice|good|looks good|lgtm|let's|i want you to|i'd like you to)[,.!:]? +)+/i;
const BEFORE_JA =
  /^(?:(?:では|じゃあ|それでは|それじゃ|次に|よし|ok|オーケー|いいね|お願い(?:します)?)[、。,! ]*)+/i;
const AFTER_EN = /(?:,? (?:please|now|thanks|thank you|for me|for us|if you can))+$/i;

/** The request itself, on one line, without courtesy and its last mark. */
function bareRequest(message: string): string {
  const line = message.normalize("NFKC").replace(/\s+/g, " ").trim();
  return line
    .replace(/[.!?。！？]+$/u, "")
    .replace(BEFORE_EN, "")
    .replace(BEFORE_JA, "")
    .replace(AFTER_EN, "")
    .trim();
}

const PULL_EN =
  /^(?:(?:commit|push)(?: (?:this|it|that|everything|all|the changes?|my changes?|the work))?(?:,? (?:and )?push(?: it)?)?,? (?:and |then |and then )?)?(?:open|create|make|raise|submit|send|file|put up|prepare)(?: me| us)? (?:an? |the |this as an? )?(?<draft>draft )?(?:new )?(?:pull[ -]?request|pr|merge[ -]?request|mr)(?: (?:for|with|of|from) (?:this|it|that|these|all|(?:(?:this|that|these|the|my|our|all|current) )+(?:change|work|branch|fix|edit|commit|feature|stuff)(?:s|es)?))?(?: (?:against|into|onto|to|on) (?:the )?(?<base>[\w./-]+)(?: branch)?)?(?:,? (?:titled|called|named|with the title) ["'“]?(?<title>.+?)["'”]?)?$/i;

const PULL_JA =
  /^(?:(?:これ|この(?:変更|修正|内容|作業|ブランチ)|今の(?:変更|修正|内容|作業)|変更|ここまで(?:の(?:変更|内容|作業))?)(?:を|で|から|の)?、?)?(?:コミット(?:して|し)、?)?(?:(?:プッシュ|push)(?:して|し)、?)?(?:(?<base>[\w./-]+)(?:への|に対する|に向けて|宛ての))?(?<draft>(?:ドラフト|下書き)の?)?(?:プルリクエスト|プルリク|pull ?request|pr|マージリクエスト|merge ?request|mr)を?(?:作(?:って|成して|成|りたい)|出して|開いて|立てて|投げて|上げて|あげて|送って|お願い)(?:ください|下さい|おいて|くれ(?:る|ます)?か?|もらえ(?:る|ます)?か?|ほしい(?:です)?|します|ね|よ)*$/i;

/** The command that the whole of a message plainly asks for in words, else null. For `schedule`, a model decides. */
export function readSentenceCommand(message: string): SlashCommand | null {
  if (message.length > LONGEST_SENTENCE || /^\s*[/／]/.test(message)) return null;
  if (maySchedule(message)) return { name: "schedule", rest: message.trim() };
  const request = bareRequest(message);
  const small = request.toLowerCase();
  if (!NAMES_OF_PULLS.some((name) => small.includes(name))) return null;
  return readPullSentence(request) ?? readReviewSentence(request);
}

/** One of them is in each sentence about a pull request. */
const NAMES_OF_PULLS: readonly string[] = ["pull", "pr", "merge", "mr", "プルリク", "マージ"];

const LONGEST_SENTENCE = 1000;

const ASIDE =
  /^\s*(?:btw|by the way|quick question|side question|a (?:quick |side )?question|ところで|ちなみに|余談(?:ですが|だけど)|ついでに(?:質問|聞き?たい?(?:ん?(?:です|だ)(?:が|けど))?))(?:[,:;、。：!\-–—]+|\s)\s*(\S[\s\S]*)$/iu;

/** The question of a message that says of itself that it is beside the matter: `btw, …`; null for any other. */
export function readAsideQuestion(message: string): string | null {
  return ASIDE.exec(message)?.[1]?.trim() ?? null;
}

function readPullSentence(request: string): SlashCommand | null {
  const found = PULL_EN.exec(request) ?? PULL_JA.exec(request);
  if (found === null) return null;
  const { draft, base, title } = found.groups ?? {};
  const rest = [
    ...(draft === undefined ? [] : ["--draft"]),
    ...(base === undefined ? [] : ["--base", base]),
    ...(title === undefined ? [] : [title.includes("--") ? `"${title}"` : title]),
  ];
  return { name: "pr", rest: rest.join(" ") };
}

const REVIEW_EN =
  /^review (?:the )?(?:pull[ -]?request|pr|merge[ -]?request|mr) (?:number |no\.? ?)?(?<number>[#!]?\d+)(?<post>,? (?:and|then) (?:post|comment|publish|leave|put|write)\b.{0,60})?$/i;
const REVIEW_JA =
  /^(?:プルリクエスト|プルリク|pr|マージリクエスト|mr)の?\s?(?<number>[#!]?\d+)\s?(?:番)?(?:を|の)(?:レビュー|見て)(?:して|を|し)?、?(?<post>(?:結果を|コメントを)?(?:投稿|コメント|書き込み|書き込ん)(?:して|を|で)?)?(?:ください|下さい|お願い(?:します)?|ほしい|くれ(?:る|ます)?か?|もらえ(?:る|ます)?か?)*$/i;

/** A pull request by its number, to be reviewed, and posted if the sentence asks for it. */
function readReviewSentence(request: string): SlashCommand | null {
  const { number, post } = (REVIEW_EN.exec(request) ?? REVIEW_JA.exec(request))?.groups ?? {};
  if (number === undefined) return null;
  const isPosted = post !== undefined && post !== "";
  return { name: "review", rest: `#${number.replace(/[#!]/, "")}${isPosted ? " --post" : ""}` };
}

export interface PullWish {
  /** Empty: it is worded by a coder. */
  readonly title: string;
  /** Null: the repository's default branch. */
  readonly base: string | null;
  readonly isDraft: boolean;
}

/** A title in quotes, with options before and after it. */
const QUOTED_TITLE =
  /^(?<before>(?:--draft |--base[ =]\S+ )*)["'“](?<title>.*)["'”](?<after>(?: --draft| --base[ =]\S+)*)$/u;

/** The words after `/pr`; null for wrong usage. An unquoted option is never a title: a typing error must not publish anything. */
export function readPullWish(rest: string): PullWish | null {
  const line = rest.replace(/\s+/g, " ").trim();
  const quoted = QUOTED_TITLE.exec(line)?.groups;
  const words = (quoted === undefined ? line : `${quoted.before}${quoted.after}`)
    .replace(/(^| )--base (?=[^ -])/g, "$1--base=")
    .split(" ")
    .filter((word) => word !== "");
  const options = words.filter((word) => /^--./.test(word));
  const bases = options.filter((word) => word !== "--draft");
  const base = /^--base=([\w./][\w./-]*)$/.exec(bases[0] ?? "")?.[1] ?? null;
  if (bases.length > 1 || (bases.length === 1 && base === null)) return null;
  const title = quoted?.title ?? words.filter((word) => !options.includes(word)).join(" ");
  return { title: title.trim(), base, isDraft: options.includes("--draft") };
}
