import { isTestPath } from "../../domain/checks/find-checks.ts";
import { proofSeconds } from "../../domain/checks/test-proofs.ts";
import { judgeAll } from "../../domain/checks/verdict.ts";
import { type BaselineDeps, checkResults, measureBaseline, recallChecks } from "../checks/baseline.ts";
import type { Baseline } from "../ports/checks.ts";
import type { Draft } from "../ports/jobs-draft.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";

export interface CandidatesRun<Head, Ending, End> {
  readonly heads: readonly Head[];
  /** All at once, or one after the other. */
  readonly atOnce: boolean;
  /** One after the other: whether the next one is to try as well. */
  readonly goesOn: (came: CandidateState<Ending, End>) => boolean;
  /**
   * A candidate with a draft asks whether it is taken, and waits there; no other candidate is asked for its
   * end.
   */
  readonly run: (head: Head, chosen: (ending: Ending) => Promise<boolean>) => Promise<End>;
  /** Which of the drafts that wait is taken. */
  readonly choose: (waiting: ReadonlyMap<Head, Ending>) => Promise<Head | null>;
}

/** Where a coder stands: its draft waits, or it has ended without one. */
type CandidateState<Ending, End> =
  | { readonly kind: "waits"; readonly ending: Ending }
  | { readonly kind: "ended"; readonly end: End };

/**
 * Several coders at one message. Each works until it has a draft that could land or until it has none; when all are
 * there, one draft is chosen, its coder goes on to land it, and the others end.
 */
export async function runCoderCandidates<Head, Ending, End>(
  parts: CandidatesRun<Head, Ending, End>,
): Promise<ReadonlyMap<Head, End>> {
  const waiting = new Map<Head, { readonly ending: Ending; readonly decide: (taken: boolean) => void }>();
  const running = new Map<Head, Promise<End>>();
  let taken: Head | null = null;

  /** Ends when its draft waits, or when it has ended. */
  function start(head: Head): Promise<CandidateState<Ending, End>> {
    const draft = Promise.withResolvers<CandidateState<Ending, End>>();
    const end = parts.run(head, (ending) => {
      if (taken === head) return Promise.resolve(true);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.set(head, { ending, decide: resolve });
      draft.resolve({ kind: "waits", ending });
      return promise;
    });
    running.set(head, end);
    return Promise.race([draft.promise, end.then((one) => ({ kind: "ended", end: one }) as const)]);
  }

  try {
    if (parts.atOnce) {
      // Every candidate is awaited: an error is thrown when all have ended, and nothing is taken then.
      const came = await Promise.allSettled(parts.heads.map(start));
      for (const one of came) if (one.status === "rejected") throw one.reason;
    } else
      for (const head of parts.heads) {
        const came = await start(head);
        if (!parts.goesOn(came)) break;
      }
    if (waiting.size > 0) taken = await parts.choose(inOrder(parts.heads, waiting));
  } finally {
    for (const [head, { decide }] of waiting) decide(head === taken);
    await Promise.allSettled(running.values());
  }
  const ends = new Map<Head, End>();
  for (const [head, end] of running) ends.set(head, await end);
  return ends;
}

/** Not in the order they came: what is equal goes to the first that was asked. */
function inOrder<Head, Ending>(
  heads: readonly Head[],
  waiting: ReadonlyMap<Head, { readonly ending: Ending }>,
): ReadonlyMap<Head, Ending> {
  return new Map(
    heads.flatMap((head) => {
      const one = waiting.get(head);
      return one === undefined ? [] : [[head, one.ending] as const];
    }),
  );
}

/** The checks of several drafts of one workspace: one baseline for all. How many run at once is the engine's to say. */
export interface SharedChecks {
  readonly openDraft: Workspace["openDraft"];
  readonly measure: typeof measureBaseline;
}

/** One that ended with the draft it ran over says nothing; the next draft measures anew. */
export function shareBaseline(): SharedChecks["measure"] {
  const known = new Map<string, Promise<Baseline>>();
  return async (parts, draft) => {
    const key = parts.memory.fingerprint();
    for (let other = known.get(key); other !== undefined; other = known.get(key)) {
      const measured = await other.catch(() => null);
      if (measured !== null && (measured.ok || measured.why !== "aborted")) return measured;
      if (known.get(key) === other) known.delete(key);
    }
    const own = measureBaseline(parts, draft);
    known.set(key, own);
    return own;
  };
}

type RunInTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** At most so many at once; the rest waits in the order it came. */
export function createRunInTurn(atOnce: number): RunInTurn {
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

/** Whether a draft brings a test that fails on the old code: its tests run over the code as the workspace has it. */
export async function provesFix(
  { checks, settings, signal, memory }: BaselineDeps,
  draft: Pick<Draft, "check" | "changes">,
  baseline: Baseline,
): Promise<boolean> {
  const paths = draft.changes().map(({ path }) => path);
  const code = paths.filter((path) => !isTestPath(path));
  const tests = checks.filter(({ kind }) => kind === "test");
  if (!baseline.ok || tests.length === 0 || code.length === 0 || code.length === paths.length) return false;
  const usualMs = recallChecks(memory, checks)?.durationMs ?? settings.timeout * 1000;
  const checked = await draft.check({
    commands: tests.map(({ line }) => line),
    over: "draft",
    asBefore: code,
    network: settings.network,
    timeoutSeconds: proofSeconds(usualMs, settings.timeout),
    signal,
  });
  if (!checked.ok) return false;
  const results = checkResults(tests, checked.runs);
  const { verdict, newFailing } = judgeAll({ baseline: baseline.results, draft: results, old: null });
  return newFailing.length > 0 || verdict === "worse" || verdict === "new-failing";
}
