import type { ItemRef } from "../../domain/forges/item-url.ts";
import type { SolveStore, SolveTask } from "../ports/solve-store.ts";

export interface TakeIn {
  readonly item: ItemRef;
  readonly askedBy: string;
  readonly trigger: SolveTask["trigger"];
  readonly worker: string | null;
}

/** A new task for an item, or the live one it has already. */
export function takeIn(
  { store, now, uuid }: { readonly store: SolveStore; readonly now: () => Date; readonly uuid: () => string },
  { item, askedBy, trigger, worker }: TakeIn,
): ReturnType<SolveStore["open"]> {
  const at = now().toISOString();
  return store.open({
    id: uuid(),
    item,
    state: "waiting",
    phase: "gather",
    createdAt: at,
    updatedAt: at,
    askedBy,
    trigger,
    worker,
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
}
