import type { CoderRole } from "../../domain/chat/agents.ts";
import type { ChecksFacts } from "../../domain/checks/findings.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import { measureBaseline } from "../checks/baseline.ts";
import type { CoderLoop } from "../coder/coder-loop.ts";
import type { ContestedFile } from "../drafts/shown-files.ts";
import type { Baseline } from "../ports/checks.ts";
import type { CoderEnding } from "../ports/coder.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import type { WorkspaceFiles } from "../ports/platform-view.ts";

export interface CandidatesRun<Candidate, Ending, End> {
  readonly candidates: readonly Candidate[];
  readonly atOnce: boolean;
  /** One after the other: whether the next one also tries. */
  readonly shouldContinue: (came: CandidateState<Ending, End>) => boolean;
  /** A candidate with a draft that could land awaits `chosen`; a candidate without one ends. */
  readonly run: (candidate: Candidate, chosen: (ending: Ending) => Promise<boolean>) => Promise<End>;
  readonly choose: (waiting: ReadonlyMap<Candidate, Ending>) => Promise<Candidate | null>;
}

type CandidateState<Ending, End> =
  | { readonly kind: "waits"; readonly ending: Ending }
  | { readonly kind: "ended"; readonly end: End };

/** Several coders work until their drafts could land or they end; then one draft is chosen, its coder lands it, and the others end. */
export async function runCoderCandidates<Candidate, Ending, End>(
  parts: CandidatesRun<Candidate, Ending, End>,
): Promise<ReadonlyMap<Candidate, End>> {
  const waiting = new Map<
    Candidate,
    { readonly ending: Ending; readonly decide: (taken: boolean) => void }
  >();
  const running = new Map<Candidate, Promise<End>>();
  let taken: Candidate | null = null;

  function start(candidate: Candidate): Promise<CandidateState<Ending, End>> {
    const draft = Promise.withResolvers<CandidateState<Ending, End>>();
    const end = parts.run(candidate, (ending) => {
      if (taken === candidate) return Promise.resolve(true);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.set(candidate, { ending, decide: resolve });
      draft.resolve({ kind: "waits", ending });
      return promise;
    });
    running.set(candidate, end);
    return Promise.race([draft.promise, end.then((one) => ({ kind: "ended", end: one }) as const)]);
  }

  try {
    if (parts.atOnce) {
      // All candidates are awaited before an error is thrown; no draft is taken then.
      const came = await Promise.allSettled(parts.candidates.map(start));
      for (const one of came) if (one.status === "rejected") throw one.reason;
    } else
      for (const candidate of parts.candidates) {
        const came = await start(candidate);
        if (!parts.shouldContinue(came)) break;
      }
    // In the order in which they were asked, so that the first one wins a tie.
    const drafts = parts.candidates.flatMap((candidate) => {
      const one = waiting.get(candidate);
      return one === undefined ? [] : [[candidate, one.ending] as const];
    });
    if (drafts.length > 0) taken = await parts.choose(new Map(drafts));
  } finally {
    for (const [candidate, { decide }] of waiting) decide(candidate === taken);
    await Promise.allSettled(running.values());
  }
  const ends = new Map<Candidate, End>();
  for (const [candidate, end] of running) ends.set(candidate, await end);
  return ends;
}

/** The parts that several drafts of one message share. Such drafts have no network. */
export interface SharedBench {
  readonly openDraft: Workspace["openDraft"];
  readonly measure?: typeof measureBaseline;
  /** The files below the draft; default: the workspace's. */
  readonly files?: WorkspaceFiles;
}

export interface CodeRequest {
  readonly role: CoderRole;
  readonly text: string;
  /** `/code plan …`: it explores and writes nothing. */
  readonly planOnly: boolean;
}

export interface CoderRun extends CodeRequest, Pick<CoderLoop, "steering"> {
  /** Whether its draft is taken, by its ending, the results of the checks, and the commands that have not run. */
  readonly chosen?: (
    ending: CoderEnding,
    checked: ChecksFacts | null,
    held: readonly PatchCommand[],
  ) => Promise<boolean>;
  /** Takes its draft without the contested files, and the commands that have not run. */
  readonly handOver?: (
    ending: CoderEnding,
    contested: readonly ContestedFile[],
    held: readonly PatchCommand[],
  ) => Promise<void>;
  readonly beside?: SharedBench;
  readonly time?: { leftMs: number };
  /** It works for another coder, without the project's checks, which judge that coder's draft. */
  readonly isSubAgent?: boolean;
}

/** A baseline is aborted when its draft ends; then the next draft measures again. */
export function shareBaseline(): typeof measureBaseline {
  const known = new Map<string, Promise<Baseline>>();
  return async (deps, draft) => {
    const key = deps.memory.fingerprint();
    for (let other = known.get(key); other !== undefined; other = known.get(key)) {
      const measured = await other.catch(() => null);
      if (measured !== null && (measured.ok || measured.why !== "aborted")) return measured;
      if (known.get(key) === other) known.delete(key);
    }
    const own = measureBaseline(deps, draft);
    known.set(key, own);
    return own;
  };
}
