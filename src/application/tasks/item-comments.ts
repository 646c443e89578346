import { readOrder } from "../../domain/forges/trigger.ts";
import type { ForgeComment } from "../ports/forges.ts";
import type { Order } from "../ports/tasks.ts";
import { quoteComments } from "./gather.ts";
import { type HeardComments, readHeardComments } from "./heard-comments.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";
import { orStop, SolveStop } from "./solve-stop.ts";

export interface NewsListener {
  /** Takes in what was said since; stops the task if that was ordered. The forge is asked as often as the configuration allows. */
  look(): Promise<void>;
}

export interface NewsWatcher extends NewsListener {
  /** Asks the forge for orders also while a command or a model runs, and tells the first one. Returns what ends it. */
  watch(onOrder: (order: Order) => void): () => void;
}

interface ItemNews extends HeardComments {
  readonly order: Order | null;
}

const WATCH_MS = 250;

/** The dialogue while a task runs: orders are obeyed, comments of those who may ask go to the coder. */
export function createNews(parts: SolveDeps, work: SolveWork): NewsWatcher {
  const { config, clock, messages } = parts;
  // What was said while nobody worked on it is heard at once.
  let last = work.task.transcript.length > 0 ? Number.NEGATIVE_INFINITY : clock();
  let kept: ItemNews | null = null;
  const isDue = () => clock() - last >= config.newsEveryMs;
  const ask = async () => {
    last = clock();
    return readNews(parts, work);
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
          // Or the task would obey it once more when it goes on.
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

async function readNews(parts: SolveDeps, work: SolveWork): Promise<ItemNews> {
  const { task, signal, bot } = work;
  work.item = await orStop(parts.forge.readItem(task.item, signal));
  if (!work.item.open || !stillWanted(parts, work)) return { heard: [], ids: [], order: "stop" };
  const said = await readHeardComments(parts, work, new Set(task.seen));
  const orders = said.heard
    .filter((comment) => !isBeforeTakeUp(work, comment))
    .map(({ body }) => readOrder(body, bot.login));
  const order = orders.includes("stop") ? "stop" : orders.includes("pause") ? "pause" : null;
  return { ...said, order };
}

/** Who takes a task up again means it, whatever order ended it. Forges tell times in whole seconds. */
function isBeforeTakeUp({ since }: SolveWork, { createdAt }: ForgeComment): boolean {
  return Date.parse(createdAt) < Math.floor(Date.parse(since) / 1000) * 1000;
}

/** Without its label or its assignment, a task that began by it is not wanted any more. */
function stillWanted({ config }: SolveDeps, { task, item, bot }: SolveWork): boolean {
  if (task.trigger === "label") return item.labels.includes(config.label);
  return task.trigger !== "assignment" || item.assignees.includes(bot.login);
}
