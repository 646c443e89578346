import { closesIssue } from "../../domain/forges/posted-text.ts";
import { readOrder } from "../../domain/forges/trigger.ts";
import type { ForgeComment, ForgeReviewComment } from "../ports/forges.ts";
import type { Order } from "../ports/tasks.ts";
import { baseBranchOf, orStop, type SolveDeps, SolveStop, type SolveWork } from "./solve-work.ts";

export type HeardComments = Awaited<ReturnType<typeof readHeardComments>>;

/**
 * The comments on a task's item by users who may address a model: those with write access, and the item's author. Every comment that
 * reaches a model passes through here. `ids`: comments that are dealt with, answered or declined.
 */
export async function readHeardComments(
  { forge }: Pick<SolveDeps, "forge">,
  { task, item, bot, signal }: Pick<SolveWork, "task" | "item" | "bot" | "signal">,
  unless: ReadonlySet<string> = new Set(),
) {
  const said = [
    ...(await orStop(forge.listComments(task.item, signal))),
    ...(item.pull === undefined ? [] : await orStop(forge.listReviewComments(task.item, signal))),
  ].filter(({ id, author }) => author !== bot.login && !unless.has(id));
  const allowed = new Map<string, boolean>([[item.author, item.author !== ""]]);
  /** Of those who may ask, oldest first. */
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

const BODY_CHARS = 20_000;
const COMMENTS_CHARS = 20_000;

/** Reads the item with what was said on it, and makes the first message of the conversation with the coder. */
export async function gatherRequest(
  deps: Pick<SolveDeps, "forge" | "config">,
  work: SolveWork,
): Promise<void> {
  const { item, repository } = work;
  if (repository.archived) throw new SolveStop("archived");
  if (!item.open) throw new SolveStop("closed");
  // Asked before any model works: a change that cannot be pushed is paid for in vain. A fork's branch is asked about later.
  const isFork = item.pull !== undefined && item.pull.sourceRepository !== item.ref.repository;
  if (!isFork && !repository.canPush) throw new SolveStop("no-permission", repository.name);
  const branch = item.pull?.sourceBranch ?? baseBranchOf({ base: null }, repository);
  await stopForAnothersPull(deps.forge, work);
  const { heard, ids } = await readHeardComments(deps, work);
  const text = [
    `# ${item.ref.kind === "issue" ? "Issue" : "Pull request"} ${item.ref.repository}#${item.ref.number}: ${item.title}`,
    quoteLines(item.body.slice(0, BODY_CHARS)),
    ...(heard.length > 0 ? ["## Comments", ...quoteComments(heard)] : []),
    ...(deps.config.rules.length > 0 ? ["## Rules of this project", ...deps.config.rules] : []),
  ].join("\n\n");
  await work.update({
    title: item.title,
    transcript: [{ role: "user", text }],
    seen: ids,
    base: { branch, commit: null },
  });
}

/** An issue that an open pull is about to close needs no second one, unless a person asked for it by hand. */
async function stopForAnothersPull(
  forge: SolveDeps["forge"],
  { task, item, bot, signal }: SolveWork,
): Promise<void> {
  if (item.ref.kind !== "issue" || task.trigger === "hand") return;
  const pulls = await orStop(forge.listOpenPulls(item.ref.repository, signal));
  const found = pulls.find(
    ({ author, title, body }) => author !== bot.login && closesIssue(`${title}\n${body}`, item.ref),
  );
  if (found !== undefined) throw new SolveStop("has-pull", `${found.url} (${found.author})`);
}

/** Newest last, the oldest left out where there are too many. */
export function quoteComments(comments: readonly (ForgeComment | ForgeReviewComment)[]): string[] {
  const texts: string[] = [];
  let left = COMMENTS_CHARS;
  for (const comment of [...comments].reverse()) {
    const where =
      "path" in comment
        ? ` on ${comment.path}${comment.line === null ? "" : `:${comment.line}`} (review comment ${comment.id})`
        : "";
    const text = `${comment.author}${where}:\n${quoteLines(comment.body)}`;
    left -= text.length;
    if (left < 0) break;
    texts.unshift(text);
  }
  return texts;
}

/** User text is data: marked as theirs, line by line. */
export function quoteLines(text: string): string {
  return text
    .split(/\r\n?|\n/)
    .map((line) => `> ${line}`)
    .join("\n");
}

export interface NewsListener {
  /** Takes in what was said since; stops the task if that was ordered. The forge is asked as often as the configuration allows. */
  look(): Promise<void>;
}

export interface NewsWatcher extends NewsListener {
  /** Asks the forge for orders also while a command or a model runs, and reports the first. Returns the function that ends it. */
  watch(onOrder: (order: Order) => void): () => void;
}

interface ItemNews extends HeardComments {
  readonly order: Order | null;
}

const WATCH_MS = 250;

/** The dialogue while a task runs: orders are obeyed, comments of those who may ask go to the coder. */
export function createNews(deps: SolveDeps, work: SolveWork): NewsWatcher {
  const { config, clock, messages } = deps;
  // Comments made while no process worked on it are read at once.
  let last = work.task.transcript.length > 0 ? Number.NEGATIVE_INFINITY : clock();
  let kept: ItemNews | null = null;
  const isDue = () => clock() - last >= config.newsEveryMs;
  const ask = async () => {
    last = clock();
    return readNews(deps, work);
  };
  return {
    async look() {
      if (work.signal.aborted) throw new SolveStop("stopped");
      const found = isDue() ? await ask() : kept;
      kept = null;
      if (found === null) return;
      const { heard, ids, order } = found;
      if (ids.length > 0) await work.update({ seen: [...new Set([...work.task.seen, ...ids])] });
      if (order !== null) throw new SolveStop(order === "stop" ? "stopped" : "paused");
      const words = heard.filter(({ body }) => readOrder(body, work.bot.login) === null);
      if (words.length === 0) return;
      const text = ["New comments, to be taken into account:", ...quoteComments(words)].join("\n\n");
      work.say(messages.takenIntoAccount(words.length));
      await work.update({ transcript: [...work.task.transcript, { role: "user", text }] });
    },
    watch(onOrder) {
      let asking = false;
      const tick = async () => {
        if (asking || !isDue() || work.signal.aborted) return;
        asking = true;
        try {
          kept = await ask();
          if (kept.order === null) return;
          // Otherwise the task would obey it again when it continues.
          await work.update({ seen: [...new Set([...work.task.seen, ...kept.ids])] });
          onOrder(kept.order);
        } finally {
          asking = false;
        }
      };
      // A forge that does not answer now is asked again; what it refuses for good ends the task at its next look.
      const timer = setInterval(() => void tick().catch(() => {}), Math.max(config.newsEveryMs, WATCH_MS));
      return () => clearInterval(timer);
    },
  };
}

async function readNews(deps: SolveDeps, work: SolveWork): Promise<ItemNews> {
  const { task, signal, bot } = work;
  work.item = await orStop(deps.forge.readItem(task.item, signal));
  if (!work.item.open || !stillWanted(deps, work)) return { heard: [], ids: [], order: "stop" };
  const said = await readHeardComments(deps, work, new Set(task.seen));
  // A user who resumes a task means it, even if an order ended it. Forges report times in whole seconds.
  const orders = said.heard
    .filter((comment) => Date.parse(comment.createdAt) >= Math.floor(Date.parse(work.since) / 1000) * 1000)
    .map(({ body }) => readOrder(body, bot.login));
  const order = orders.includes("stop") ? "stop" : orders.includes("pause") ? "pause" : null;
  return { ...said, order };
}

/** Without its label or its assignment, a task that began by it is not wanted any more. */
function stillWanted({ config }: SolveDeps, { task, item, bot }: SolveWork): boolean {
  if (task.trigger === "label") return item.labels.includes(config.label);
  return task.trigger !== "assignment" || item.assignees.includes(bot.login);
}
