import { decidesChecks } from "../../domain/checks/path-kinds.ts";
import { findMissingService, readResults } from "../../domain/checks/read-results.ts";
import type { HistoryCase, NotACase } from "../../domain/history/case.ts";
import { findLinesOf, type OpenChecksDeps } from "../checks/baseline.ts";
import type { PlayResult, SeenCase } from "../ports/history.ts";
import type { FileDifference } from "../ports/jobs.ts";
import type { CheckRun } from "../ports/jobs-draft.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import { openDraftWith, toEdit } from "./earlier-draft.ts";
import { type FoundCase, hiddenTests } from "./find-cases.ts";

/** A contestant: who works, by which settings. */
export interface Contestant {
  readonly name: string;
  /** The message's command: `/code2`, or `/head claude-code`. */
  readonly command: string;
  /** `provider/model`, or an agent: a case that it produced does not count for it. */
  readonly worker: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** A separate folder for a case, with its files and git's history up to them, and nothing later. */
export interface CaseRoom {
  readonly workspace: Pick<Workspace, "openDraft" | "files">;
  readonly checks: Pick<OpenChecksDeps, "settings" | "memory" | "hasProgram">;
  /** Lets a contestant work in a draft there; what it did is left as a preview. Never rejects. */
  play(contestant: Contestant, request: string, limits: PlayLimits): Promise<RoomPlay>;
  close(): Promise<void>;
}

export interface PlayLimits {
  readonly budgetUsd: number | null;
  readonly signal: AbortSignal;
}

export interface RoomPlay extends Omit<PlayResult, "diff"> {
  readonly differences: readonly FileDifference[];
}

export const UNPLAYED: RoomPlay = {
  ...{ done: false, checked: false, failure: null, differences: [] },
  ...{ requests: 0, tokens: 0, usd: null, seconds: 0 },
};

export type BuildRoom = (found: FoundCase) => Promise<CaseRoom | NotACase>;

async function runJudge(
  room: CaseRoom,
  line: string,
  files: ReadonlyMap<string, Uint8Array | string | null>,
  signal: AbortSignal,
) {
  const none = (output: string) => ({ run: null, isGreen: false, output });
  const opened = await openDraftWith(room.workspace, [...files].map(toEdit), { source: "compare", signal });
  if (!opened.ok) return none(opened.refusal.message);
  const { draft } = opened;
  try {
    const { timeout: timeoutSeconds } = room.checks.settings;
    const ran = await draft.check({
      commands: [line],
      over: "draft",
      home: "bare",
      withoutBuildLayer: true,
      timeoutSeconds,
      signal,
    });
    /** Null where nothing ran: the output says why, and nothing of the case. */
    const run = ran.ok ? ran.runs[0] : undefined;
    if (run === undefined) return none(ran.ok ? "" : ran.message);
    const passed = readResults(run.whole)?.counts.passed;
    return { run, isGreen: run.exitCode === 0 && passed !== 0, output: run.output };
  } finally {
    await draft.discard("compare");
  }
}

/** Why tests that should pass do not, as far as their output says it. */
function explainRed({ outcome, durationMs, whole }: CheckRun): NotACase {
  if (outcome === "timed-out") return { code: "endless", seconds: Math.round(durationMs / 1000) };
  const needed = findMissingService(whole);
  if (needed !== null) return { code: "no-service", output: needed };
  const [first] = readResults(whole)?.failures ?? [];
  const last = whole.trimEnd().split("\n").at(-1) ?? "";
  return { code: "red-after", output: first === undefined ? last : `${first.test}: ${first.message}` };
}

/** Sees a case once: its tests fail before the change, and pass with it, twice. Kept until its content changes. */
export async function seeCase(room: CaseRoom, found: FoundCase, signal: AbortSignal): Promise<SeenCase> {
  const { key } = found;
  const not = (why: NotACase): SeenCase => ({ key, ok: false, why });
  const whole = new Map(found.files.map(({ path, after }) => [path, after]));
  let failed: CheckRun | null = null;
  for (const line of findLinesOf({ ...room.checks, files: room.workspace.files }, hiddenTests(found))) {
    const first = await runJudge(room, line, whole, signal);
    if (first.run === null) return not({ code: "cannot-run", output: first.output });
    if (first.isGreen) {
      const before = await runJudge(room, line, hiddenTests(found), signal);
      if (before.run === null) return not({ code: "cannot-run", output: before.output });
      if (before.isGreen) return not({ code: "green-before" });
      const second = await runJudge(room, line, whole, signal);
      const seconds = (second.run?.durationMs ?? 0) / 1000;
      return second.isGreen ? { key, ok: true, line, seconds } : not({ code: "flaky" });
    }
    failed ??= first.run;
  }
  return not(failed === null ? { code: "no-runner" } : explainRed(failed));
}

/** Whether a change passes the hidden tests; null: they could not run. Test settings count only if the real change has them, too. */
export async function judgePlay(
  room: CaseRoom,
  found: HistoryCase,
  line: string,
  differences: readonly FileDifference[],
  signal: AbortSignal,
): Promise<boolean | null> {
  const real = new Set(found.files.map(({ path }) => path));
  const own = differences.flatMap(({ path, after }) =>
    after === undefined || path.startsWith(".git/") || (decidesChecks(path) && !real.has(path))
      ? []
      : [[path, after] as const],
  );
  const { run, isGreen } = await runJudge(
    room,
    line,
    new Map<string, Uint8Array | string | null>([...own, ...hiddenTests(found)]),
    signal,
  );
  return run === null ? null : isGreen;
}
