import type { ForgeComment, ForgeReviewComment } from "../ports/forges.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";
import { orStop } from "./solve-stop.ts";

export interface HeardComments {
  /** Of those who may ask, oldest first. */
  readonly heard: readonly (ForgeComment | ForgeReviewComment)[];
  /** Of everybody but the bot: what has been dealt with, one way or the other. */
  readonly ids: readonly string[];
}

/**
 * What was said on a task's item, by those who may say something to a model: people with write access, by the forge's
 * own word, and whoever wrote the item. Every comment that reaches a model comes through here.
 */
export async function readHeardComments(
  { forge }: Pick<SolveDeps, "forge">,
  { task, item, bot, signal }: Pick<SolveWork, "task" | "item" | "bot" | "signal">,
  unless: ReadonlySet<string> = new Set(),
): Promise<HeardComments> {
  const said = [
    ...(await orStop(forge.listComments(task.item, signal))),
    ...(item.pull === undefined ? [] : await orStop(forge.listReviewComments(task.item, signal))),
  ].filter(({ id, author }) => author !== bot.login && !unless.has(id));
  const allowed = new Map<string, boolean>([[item.author, item.author !== ""]]);
  const heard: (ForgeComment | ForgeReviewComment)[] = [];
  for (const comment of said) {
    const { author } = comment;
    const may = allowed.get(author) ?? (await mayWrite(forge, { item, signal }, author));
    allowed.set(author, may);
    if (may) heard.push(comment);
  }
  return { heard, ids: said.map(({ id }) => id) };
}

async function mayWrite(
  forge: SolveDeps["forge"],
  { item, signal }: Pick<SolveWork, "item" | "signal">,
  author: string,
): Promise<boolean> {
  // An account that was deleted has no name, and no rights.
  if (author === "") return false;
  const permission = await orStop(forge.permissionOf(item.ref.repository, author, signal));
  return permission === "write" || permission === "admin";
}
