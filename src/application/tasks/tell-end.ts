import { itemUrl } from "../../domain/forges/forge-items.ts";
import type { ChatMessages, SolveMessages } from "../../domain/texts/texts.ts";
import type { BudgetNotice } from "../models/meter.ts";
import type { NewReply } from "../ports/serve.ts";
import type { SolveTask } from "../ports/tasks.ts";

export interface NotifyTaskEndDeps {
  /** `<channel>:<chatId>`; null: nobody is told. */
  readonly chat: () => string | null;
  readonly post: (reply: NewReply) => Promise<void>;
  readonly solveWords: () => SolveMessages;
  readonly chatWords: () => ChatMessages;
  readonly uuid: () => string;
  readonly now: () => Date;
}

/** Tells a chat that a task is finished or has failed, and what is left of the budget. Other ends are somebody's wish. */
export type NotifyTaskEnd = (task: SolveTask, budget: readonly BudgetNotice[]) => Promise<void>;

export function createNotifyTaskEnd(parts: NotifyTaskEndDeps): NotifyTaskEnd {
  return async (task, budget) => {
    const chat = parts.chat();
    if (chat === null || (task.state !== "done" && task.state !== "failed")) return;
    const at = chat.indexOf(":");
    const [channel, chatId] = [chat.slice(0, at), chat.slice(at + 1)];
    const since = parts.now().toISOString();
    const lines = [
      ...endLines(task, task.state, parts.solveWords()),
      ...budget.map(parts.chatWords().budget),
    ];
    await parts.post({
      key: parts.uuid(),
      messageId: null,
      channel,
      chatId,
      userId: chatId,
      content: { kind: "notice", text: lines.join("\n") },
      since,
      at: since,
    });
  };
}

function endLines(task: SolveTask, state: "done" | "failed", words: SolveMessages): string[] {
  const { title, item, failure, pull, checks } = task;
  return [
    `${words.ended[state]}: ${title}`,
    itemUrl(item),
    ...(failure === null ? [] : [failure.message]),
    ...(pull === null ? [] : [words.pullOpened(pull.url)]),
    ...(pull !== null && checks.length === 0 ? [words.verdicts.unchecked] : []),
  ];
}
