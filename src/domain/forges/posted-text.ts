import { defuse, defuseTitle } from "./defuse.ts";
import type { ForgeKind } from "./forge-kinds.ts";

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

/** The comment as it is posted. Whatever the text says, it commands nothing. */
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
export function fenced(text: string, language = ""): string {
  const longest = Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1));
  const fence = "`".repeat(longest);
  return `${fence}${language}\n${text.replace(/\n+$/, "")}\n${fence}`;
}

function cutText(text: string): string {
  return text.length > BODY_CHARS ? `${text.slice(0, BODY_CHARS)}…` : text;
}
