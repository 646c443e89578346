import type { Workspace } from "../ports/jobs-workspace.ts";
import type { Draft } from "../jobs/draft.ts";
import { type Baseline, type BaselineDeps, measureBaseline } from "../checks/baseline.ts";

/** The checks of several drafts of one workspace: one baseline for all, and no more at once than the machine bears. */
export interface SharedChecks {
  readonly openDraft: Workspace["openDraft"];
  readonly measure: typeof measureBaseline;
}

export function shareChecks(workspace: Pick<Workspace, "openDraft">, atOnce: number): SharedChecks {
  const inTurn = createRunInTurn(atOnce);
  const known = new Map<string, Promise<Baseline>>();

  /** One that ended with the draft it ran over says nothing; the next draft measures anew. */
  async function measure(parts: BaselineDeps, draft: Pick<Draft, "check">): Promise<Baseline> {
    const key = parts.memory.fingerprint();
    for (let other = known.get(key); other !== undefined; other = known.get(key)) {
      const measured = await other.catch(() => null);
      if (measured !== null && (measured.ok || measured.why !== "aborted")) return measured;
      if (known.get(key) === other) known.delete(key);
    }
    const own = measureBaseline(parts, draft);
    known.set(key, own);
    return own;
  }

  return {
    measure,
    async openDraft(request) {
      const opened = await workspace.openDraft(request);
      if (!opened.ok) return opened;
      const { draft } = opened;
      return { ok: true, draft: limitDraft(draft, inTurn) };
    },
  };
}

type RunInTurn = <T>(work: () => Promise<T>) => Promise<T>;

function limitDraft(draft: Draft, inTurn: RunInTurn): Draft {
  return {
    id: draft.id,
    get files() {
      return draft.files;
    },
    run: (attempt) => draft.run(attempt),
    check: (request) => inTurn(() => draft.check(request)),
    changes: () => draft.changes(),
    diff: () => draft.diff(),
    commit: () => draft.commit(),
    keep: (red) => draft.keep(red),
    discard: (reason) => draft.discard(reason),
  };
}

/** At most so many at once; the rest waits in the order it came. */
function createRunInTurn(atOnce: number): RunInTurn {
  const waiting: (() => void)[] = [];
  let free = atOnce;
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
