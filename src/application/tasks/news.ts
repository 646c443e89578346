import { orderIn } from "../../domain/forges/trigger.ts";
import type { ForgeComment } from "../ports/forge.ts";
import { quoteComments } from "./gather.ts";
import type { SolveParts, Work } from "./solve-parts.ts";
import { orStop, SolveStop } from "./solve-stop.ts";

export interface News {
  /** Looks whether anything new was said or ordered, as often as the configuration allows; stops the task if so. */
  look(): Promise<void>;
}

/** The dialogue while a task runs: orders are obeyed, comments of those who may ask go to the coder. */
export function createNews(parts: SolveParts, work: Work): News {
  const { forge, config, clock, messages } = parts;
  let last = clock();
  return {
    async look() {
      if (work.signal.aborted) throw new SolveStop("stopped");
      if (clock() - last < config.newsEveryMs) return;
      last = clock();
      const { task, signal } = work;
      work.item = await orStop(forge.readItem(task.item, signal));
      if (!work.item.open || !stillWanted(parts, work)) throw new SolveStop("stopped");
      const heard = await newComments(parts, work);
      if (heard.length === 0) return;
      const orders = heard.map(({ body }) => orderIn(body, work.bot.login));
      await work.update({ seen: [...task.seen, ...heard.map(({ id }) => id)] });
      if (orders.includes("stop")) throw new SolveStop("stopped");
      if (orders.includes("pause")) throw new SolveStop("paused");
      const words = heard.filter((_, i) => orders[i] === null);
      if (words.length === 0) return;
      const text = ["New comments, to be taken into account:", ...quoteComments(words)].join("\n\n");
      work.say(messages.takenIntoAccount(words.length));
      await work.update({ transcript: [...work.task.transcript, { role: "user", text }] });
    },
  };
}

/** Without its label or its assignment, a task that began by it is not wanted any more. */
function stillWanted({ config }: SolveParts, { task, item, bot }: Work): boolean {
  if (task.trigger === "label") return item.labels.includes(config.label);
  return task.trigger !== "assignment" || item.assignees.includes(bot.login);
}

async function newComments({ forge }: SolveParts, work: Work): Promise<ForgeComment[]> {
  const { task, signal, bot, item } = work;
  const comments = [
    ...(await orStop(forge.listComments(task.item, signal))),
    ...(item.pull === undefined ? [] : await orStop(forge.listReviewComments(task.item, signal))),
  ];
  const fresh = comments.filter(({ id, author }) => author !== bot.login && !task.seen.includes(id));
  const heard: ForgeComment[] = [];
  for (const comment of fresh) if (await mayAsk(work, forge, comment.author)) heard.push(comment);
  const unheard = fresh.filter((comment) => !heard.includes(comment)).map(({ id }) => id);
  if (unheard.length > 0) await work.update({ seen: [...work.task.seen, ...unheard] });
  return heard;
}

/** Those with write access, by the forge's own word, and whoever wrote the item. */
async function mayAsk({ item, signal }: Work, forge: SolveParts["forge"], author: string): Promise<boolean> {
  if (author === item.author) return true;
  const permission = await orStop(forge.permissionOf(item.ref.repository, author, signal));
  return permission === "write" || permission === "admin";
}
