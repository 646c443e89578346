import { byForge, type ForgeKind, forgeFacts } from "../config/configured-kinds.ts";
import { fenceText } from "../texts/format-text.ts";
import type { ItemRef } from "./forge-items.ts";

/** Shown as nothing, and no forge reads a name, a keyword, a tag or a command across it. */
const WORD_BREAK = "\u200b";

/** Where a word that closes an issue is broken. */
const CLOSING = byForge((forge) => {
  const halves = forgeFacts(forge).closing.map((word) =>
    word.replace(/^(\w+)-(.+)$/, "(?<=$1)(?=$2(?![a-z0-9]))"),
  );
  return new RegExp(halves.join("|"), "gi");
});

/** A reference to an issue in any of its forms: `#7`, `group/name#7`, `GH-7`, `KEY-7`, `[issue:7]`, an address. */
const REFERENCE = /#\w|\b[a-z][a-z0-9_]*-\d|\[\w+:|https?:/i;

/** How far behind its word a reference is looked for: Markdown marks and other words may be in between. */
const REACH_CHARS = 200;

/** Whether a forge would close this issue of the same repository when a pull with these words is merged. */
export function closesIssue(text: string, issue: ItemRef): boolean {
  const { repository, number } = issue;
  const name = repository.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const words = "(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)";
  const address = `https?://\\S+/${name}(?:/-)?/issues/`;
  return new RegExp(`\\b${words}:?\\s+(?:(?:${name})?#|GH-|${address})${number}(?!\\d)`, "i").test(text);
}

/** Entities that spell no sign of a command. Any other would be decoded after we looked. */
const HARMLESS_ENTITY = /^&(?:lt|gt|amp|quot|nbsp|mdash|ndash|hellip);/;

/** Words of others as data to a forge: they call no one, close no issue, give no command (`/merge`) and hide nothing. */
export function defuse(forge: ForgeKind, text: string): string {
  const calm = text
    .replace(/\r\n?|[\u000b\u000c\u0085\u2028\u2029]/g, "\n")
    .replace(/<(?=[a-z/!?])/gi, `<${WORD_BREAK}`)
    .replace(/&(?=[#\w])/g, (sign, at: number, all: string) =>
      HARMLESS_ENTITY.test(all.slice(at, at + 10)) ? sign : `${sign}${WORD_BREAK}`,
    )
    .replace(/(?<![A-Za-z0-9])@(?=[\w-])/g, `@${WORD_BREAK}`)
    .replace(/^([^\S\r\n\u2028\u2029]*)(?=\/)/gm, `$1${WORD_BREAK}`);
  return calm.replace(CLOSING[forge], (_, at: number) =>
    REFERENCE.test(calm.slice(at, at + REACH_CHARS)) ? WORD_BREAK : "",
  );
}

/** Characters that steer a terminal, or turn the direction of the words after them. */
const STEERING = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** One line of what can be seen, which a forge does not take for the title of a draft either. */
export function defuseTitle(forge: ForgeKind, title: string): string {
  return defuse(forge, title.replace(STEERING, " ").replace(/\s+/g, " ").trim()).replace(
    /^([\s[(]*(?:dra|wi))(?=ft|p)/i,
    `$1${WORD_BREAK}`,
  );
}

/** A comment, before it is written for a forge. Only `text` may hold words of others. */
export interface CommentText {
  readonly text: string;
  /** Hidden in the comment, to find it again. */
  readonly mark?: string;
  /** Shown as it is, for `git apply`. */
  readonly patch?: string;
}

/** A pull, before it is written for a forge. Title and body may hold words of others. */
export interface PullText {
  readonly title: string;
  readonly body: string;
  /** The issue that the forge closes when the pull is merged. */
  readonly closes: number | null;
  readonly draft: boolean;
}

const TITLE_CHARS = 120;
const BODY_CHARS = 60_000;

/** The comment as it is posted. Its text never acts as a command. */
export function postedComment(forge: ForgeKind, { text, mark, patch }: CommentText): string {
  return [
    ...(mark === undefined ? [] : [commentMark(mark)]),
    cutText(defuse(forge, text)),
    ...(patch === undefined
      ? []
      : [`<details><summary>patch</summary>\n\n${fenced(patch, "diff")}\n</details>`]),
  ].join("\n\n");
}

/** How a comment with that mark is known again. */
export function commentMark(mark: string): string {
  return `<!-- picoclaw:${mark.replace(/[^\w .-]/g, "")} -->`;
}

/** Title and body as they are posted: the only keyword that closes anything is ours. */
export function postedPull(
  forge: ForgeKind,
  { title, body, closes }: PullText,
): { title: string; body: string } {
  const text = cutText(defuse(forge, body));
  return {
    title: defuseTitle(forge, title).slice(0, TITLE_CHARS),
    body: closes === null ? text : `${text}\n\nCloses #${closes}`,
  };
}

/** The message of a commit, which forges read as well. */
export function postedCommit(forge: ForgeKind, message: string, closes: number | null): string {
  const text = defuse(forge, message).trim();
  return closes === null ? text : `${text}\n\nCloses #${closes}`;
}

/** A patch is made by a container: one whose lines a forge could take for commands is not of git's making. */
export function isShowable(patch: string): boolean {
  return patch.length <= BODY_CHARS && !/(?:^|[\n\r])\//.test(patch);
}

/** Between marks that nothing in the text can end. */
export const fenced = (text: string, language = "") => fenceText(text.replace(/\n+$/, ""), language);

function cutText(text: string): string {
  return text.length > BODY_CHARS ? `${text.slice(0, BODY_CHARS)}…` : text;
}
