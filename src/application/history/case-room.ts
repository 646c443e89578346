import { decidesChecks } from "../../domain/checks/deciding-files.ts";
import { narrowLine } from "../../domain/checks/narrow-check.ts";
import { readResults } from "../../domain/checks/read-results.ts";
import type { HistoryCase, NotACase } from "../../domain/history/case.ts";
import { type OpenChecksDeps, openChecks } from "../checks/baseline.ts";
import type { CompareStore, PlayResult, SeenCase } from "../ports/history.ts";
import type { FileDifference } from "../ports/jobs.ts";
import type { TakenEdit } from "../ports/jobs-transaction.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import { type FoundCase, hiddenTests } from "./find-cases.ts";

/** A contestant: who works, by which settings. */
export interface Contestant {
  /** As the user wrote it. */
  readonly name: string;
  /** The message's command: `/code2`, or `/head claude-code`. */
  readonly command: string;
  /** `provider/model`; null where an agent chooses. */
  readonly model: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** A folder of a case's own, with its files and git's history up to them, and nothing of what came later. */
export interface CaseRoom {
  readonly workspace: Pick<Workspace, "openDraft" | "files">;
  readonly checks: Pick<OpenChecksDeps, "settings" | "memory" | "hasProgram">;
  /** Lets a contestant work in a draft there; what it did is left as a preview. Never rejects. */
  play(contestant: Contestant, request: string, limits: PlayLimits): Promise<RoomPlay>;
  close(): Promise<void>;
}

export interface PlayLimits {
  /** Of this play; null: none. */
  readonly budgetUsd: number | null;
  readonly signal: AbortSignal;
}

export interface RoomPlay extends Omit<PlayResult, "diff"> {
  readonly differences: readonly FileDifference[];
}

/** Builds the room of a case, or says why it cannot be. */
export type BuildRoom = (found: FoundCase) => Promise<CaseRoom | NotACase>;

/** The commands that may run a case's tests, in the fallback order of the project's checks; empty if none is known. */
function findJudges({ workspace: { files }, checks }: CaseRoom, found: HistoryCase): readonly string[] {
  const settings = { ...checks.settings, enabled: "always" as const };
  const opened = openChecks({ ...checks, settings, files, now: () => 0 });
  const test = opened.ok ? opened.checks.find(({ kind }) => kind === "test") : undefined;
  if (test === undefined) return [];
  const tests = hiddenTests(found);
  const lines = [test.runner ?? test.line, ...(test.instead ?? []).map(({ line }) => line)];
  return [...new Set(lines.map((line) => narrowLine(line, [...tests.keys()], tests) ?? line))];
}

interface JudgedRun {
  /** False where nothing ran: the output says why, and nothing of the case. */
  readonly ran: boolean;
  readonly isGreen: boolean;
  readonly output: string;
  readonly seconds: number;
}

/** Runs the judge over the room with these files laid over it. */
async function runJudge(
  room: CaseRoom,
  line: string,
  files: ReadonlyMap<string, Uint8Array | string | null>,
  signal: AbortSignal,
): Promise<JudgedRun> {
  const none = (output: string) => ({ ran: false, isGreen: false, output, seconds: 0 });
  const opened = await room.workspace.openDraft({
    source: "compare",
    checked: true,
    network: false,
    autoCommit: false,
    signal,
  });
  if (!opened.ok) return none(opened.refusal.message);
  const { draft } = opened;
  try {
    const refusal = await draft.takeIn([...files].map(toEdit), 0);
    if (refusal !== null) return none(refusal.message);
    const { timeout: timeoutSeconds } = room.checks.settings;
    const ran = await draft.check({
      commands: [line],
      over: "draft",
      home: "bare",
      withoutBuildLayer: true,
      timeoutSeconds,
      signal,
    });
    const run = ran.ok ? ran.runs[0] : undefined;
    if (run === undefined) return none(ran.ok ? "" : ran.message);
    const passed = readResults(run.whole)?.counts.passed;
    return {
      ran: true,
      isGreen: run.exitCode === 0 && passed !== 0,
      output: run.output,
      seconds: run.durationMs / 1000,
    };
  } finally {
    await draft.discard("compare");
  }
}

const encoder = new TextEncoder();

function toEdit([path, content]: readonly [string, Uint8Array | string | null]): TakenEdit {
  if (content === null) return { path, entry: { kind: "missing" }, bytes: null };
  const bytes = typeof content === "string" ? encoder.encode(content) : content;
  return { path, entry: { kind: "file", mode: 0o644, size: bytes.length }, bytes };
}

/** Lines of a judge's output that a reason keeps. */
const LAST_LINES = 3;

/** Sees a case once: its tests fail before the change, and pass with it, twice. Kept until its content changes. */
export async function seeCase(room: CaseRoom, found: FoundCase, signal: AbortSignal): Promise<SeenCase> {
  const { key } = found;
  const not = (why: NotACase): SeenCase => ({ key, ok: false, why });
  const whole = new Map(found.files.map(({ path, after }) => [path, after]));
  let failed: JudgedRun | null = null;
  for (const line of findJudges(room, found)) {
    const first = await runJudge(room, line, whole, signal);
    if (!first.ran) return not({ code: "cannot-run", output: first.output });
    if (first.isGreen) {
      const before = await runJudge(room, line, hiddenTests(found), signal);
      if (!before.ran) return not({ code: "cannot-run", output: before.output });
      if (before.isGreen) return not({ code: "green-before" });
      const second = await runJudge(room, line, whole, signal);
      return second.isGreen ? { key, ok: true, line, seconds: second.seconds } : not({ code: "flaky" });
    }
    failed ??= first;
  }
  if (failed === null) return not({ code: "no-runner" });
  const output = failed.output.trimEnd().split("\n").slice(-LAST_LINES).join("\n");
  return not({ code: "red-after", output });
}

/**
 * Whether a contestant's change passes the hidden tests; null where they could not be run. Files that decide how tests run count as before, unless the real
 * change needed them.
 */
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
  const { ran, isGreen } = await runJudge(
    room,
    line,
    new Map<string, Uint8Array | string | null>([...own, ...hiddenTests(found)]),
    signal,
  );
  return ran ? isGreen : null;
}

/** Keeps what was seen, beside what others keep meanwhile. */
export function rememberSeen(store: CompareStore, id: string, seen: SeenCase): void {
  const memory = store.readCases();
  store.keepCases({ ...memory, seen: { ...memory.seen, [id]: seen } });
}
