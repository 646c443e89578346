import type { SlashCommand } from "./message-commands.ts";
import { readScheduleSentence } from "./schedule-sentence.ts";

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

/**
 * A message that plainly asks for one of PicoClaw's own commands in words, as that command; null for any other. The whole
 * message must be that request: a longer message is routed like any other.
 */
export function readSentenceCommand(message: string): SlashCommand | null {
  if (message.length > LONGEST_SENTENCE || /^\s*[/／]/.test(message)) return null;
  if (readScheduleSentence(message) !== null) return { name: "schedule", rest: message.trim() };
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

/**
 * The words after `/pr`: `--draft`, `--base BRANCH`, and a title; null for wrong usage. Nothing that looks like an option
 * is taken as a title unless it is quoted: a typing error must not publish anything.
 */
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
