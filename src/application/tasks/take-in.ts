import type { ItemRef } from "../../domain/forges/forge-items.ts";
import type { SolveStore, SolveTask } from "../ports/tasks.ts";

export interface TakeInRequest {
  readonly item: ItemRef;
  readonly askedBy: string;
  readonly trigger: SolveTask["trigger"];
  readonly worker: string | null;
  /** Coders that work on it at once. Default: 1. */
  readonly candidates?: number;
  /** Labels that a machine must have to carry it out. */
  readonly needs?: readonly string[];
  /** Begins anew even where an earlier task of the item left something to go on from. */
  readonly fresh?: boolean;
}

export interface TakeInResult {
  readonly task: SolveTask;
  /** `new`: nothing was there. `again`: an earlier one goes on from what it kept. `already`: a live one is there. */
  readonly began: "new" | "again" | "already";
}

/** Ends from which there is something to go on. */
const UNFINISHED: ReadonlySet<SolveTask["state"]> = new Set(["failed", "stopped"]);

/** A new task for an item, the one that did not come to its end, or the live one that it has already. */
export async function takeInTask(
  { store, now, uuid }: { readonly store: SolveStore; readonly now: () => Date; readonly uuid: () => string },
  { item, askedBy, trigger, worker, candidates = 1, needs = [], fresh = false }: TakeInRequest,
): Promise<TakeInResult> {
  const at = now().toISOString();
  const last = fresh ? null : await store.findLast(item);
  if (last !== null && UNFINISHED.has(last.state)) {
    const again = {
      ...last,
      state: "waiting",
      askedBy,
      askedAt: at,
      trigger,
      worker,
      updatedAt: at,
    } as const;
    const task = { ...again, candidates, needs, stepsBefore: last.steps, notes: [], checks: [] };
    if (await store.reopen(task)) return { task, began: "again" };
  }
  const opened = await store.open({
    id: uuid(),
    item,
    state: "waiting",
    phase: "gather",
    createdAt: at,
    updatedAt: at,
    askedBy,
    askedAt: at,
    trigger,
    worker,
    candidates,
    needs,
    title: "",
    branch: null,
    attempt: 1,
    base: null,
    pushed: null,
    pull: null,
    commentId: null,
    plan: null,
    environment: null,
    transcript: [],
    steps: 0,
    commands: [],
    checks: [],
    summary: "",
    patch: "",
    seen: [],
    failure: null,
    notes: [],
    spent: {},
  });
  return { task: opened.task, began: opened.fresh ? "new" : "already" };
}
