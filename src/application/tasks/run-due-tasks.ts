import { itemUrl } from "../../domain/forges/forge-items.ts";
import type { ChatMessages } from "../../domain/texts/chat.ts";
import type { SolveMessages } from "../../domain/texts/tasks.ts";
import type { FleetStore } from "../ports/fleet.ts";
import type { BudgetNotice } from "../ports/models-meter.ts";
import type { Timers } from "../ports/platform.ts";
import type { NewReply } from "../ports/serve.ts";
import type { ClaimedTask, SolveStore, SolveTask } from "../ports/tasks.ts";
import { createWorkTaker } from "../serve/take-work.ts";

export interface TaskRunnerDeps {
  readonly store: Pick<SolveStore, "claim">;
  /** Tasks that are worked on at once. */
  readonly limit: number;
  /** The capabilities of this process: labels, and the forges it may ask. */
  readonly has: readonly string[];
  /** Ends the claim before it resolves. */
  readonly run: (claimed: ClaimedTask, signal: AbortSignal) => Promise<void>;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

/** Works on tasks that wait, oldest first, a few at a time. */
export function createTaskRunner(deps: TaskRunnerDeps) {
  const { store, limit, has, timers, onTrouble } = deps;
  const stopping = new AbortController();
  const taking = createWorkTaker<ClaimedTask>({
    // Tasks need a lane.
    claim: async ({ lightOnly = false, notGroups = [] }) =>
      lightOnly || notGroups.length > 0 ? null : store.claim(has),
    run: (claimed) => deps.run(claimed, stopping.signal),
    limit,
    perGroup: limit,
    timers,
    onTrouble,
  });
  return {
    /** There may be work. */
    wake: taking.look,
    /** Ends what runs and waits for it; nothing begins afterwards. */
    async stop(): Promise<void> {
      taking.close();
      stopping.abort();
      await taking.idle();
    },
  };
}

export interface TaskGateDeps {
  readonly fleet: Pick<FleetStore, "machines">;
  readonly machineId: string;
  /** Labels that a task needs beside the engine's. */
  readonly needs: readonly string[];
  /** Null while the engine answers. */
  readonly engineTrouble: () => Promise<string | null>;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
}

/** So long what the engine said holds. */
const GATE_HOLDS_MS = 3_000;
const ENGINE = "docker";

/**
 * A machine whose engine does not answer leaves tasks to one that meets their needs. If there is none it
 * takes them all the same, so that the asker is notified.
 */
export function createTaskGate(deps: TaskGateDeps) {
  const { fleet, machineId, clock } = deps;
  const needs = [ENGINE, ...deps.needs];
  const engine = { answers: true, askedAt: Number.NEGATIVE_INFINITY };

  async function ask(): Promise<boolean> {
    if (clock() - engine.askedAt >= GATE_HOLDS_MS) {
      engine.askedAt = clock();
      engine.answers = (await deps.engineTrouble()) === null;
    }
    return engine.answers;
  }
  return {
    /** Asked before each claim. */
    async mayTake(): Promise<boolean> {
      if (await ask()) return true;
      const machines = await fleet.machines();
      return !machines.some(
        ({ id, here, processes }) =>
          id !== machineId &&
          here &&
          processes.some(
            ({ labels, draining }) => !draining && needs.every((label) => labels.includes(label)),
          ),
      );
    },
    /** Labels of this machine that do not hold now; the others read it with the next beat. */
    lacking(): readonly string[] {
      if (engine.answers) return [];
      // No other code asks while no task arrives.
      void ask().catch(() => {});
      return [ENGINE];
    },
  };
}

export interface NotifyTaskEndDeps {
  /** `<channel>:<chatId>`; null: no chat is notified. */
  readonly chat: () => string | null;
  readonly post: (reply: NewReply) => Promise<void>;
  readonly solveWords: () => SolveMessages;
  readonly chatWords: () => ChatMessages;
  readonly uuid: () => string;
  readonly now: () => Date;
}

/** Tells a chat that a task is finished or has failed, and what is left of the budget. Other ends were requested by a person. */
export type NotifyTaskEnd = (task: SolveTask, budget: readonly BudgetNotice[]) => Promise<void>;

export function createNotifyTaskEnd(deps: NotifyTaskEndDeps): NotifyTaskEnd {
  return async (task, budget) => {
    const chat = deps.chat();
    if (chat === null || (task.state !== "done" && task.state !== "failed")) return;
    const at = chat.indexOf(":");
    const [channel, chatId] = [chat.slice(0, at), chat.slice(at + 1)];
    const since = deps.now().toISOString();
    const lines = [...endLines(task, task.state, deps.solveWords()), ...budget.map(deps.chatWords().budget)];
    await deps.post({
      key: deps.uuid(),
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
    // An item that could not be read has no title.
    title === "" ? words.ended[state] : `${words.ended[state]}: ${title}`,
    itemUrl(item),
    ...(failure === null ? [] : [failure.message]),
    ...(pull === null ? [] : [words.pullOpened(pull.url)]),
    ...(pull !== null && checks.length === 0 ? [words.verdicts.unchecked] : []),
  ];
}
