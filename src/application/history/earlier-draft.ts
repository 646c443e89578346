import { attemptOr } from "../../domain/platform/error-text.ts";
import { isSameFile } from "../../domain/platform/file-bytes.ts";
import type { EarlierState, HandEdit, JobStack } from "../ports/history.ts";
import type { FileDifference } from "../ports/jobs.ts";
import type { Draft, OpenedDraft } from "../ports/jobs-draft.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import { type TakenEdit, ViewFault, type WorkspaceFiles } from "../ports/platform-view.ts";

/** A draft over files as they were. It never lands: `close` discards it and removes its record. */
export type EarlierDraft =
  | {
      readonly ok: true;
      readonly draft: Draft;
      close(): Promise<void>;
    }
  | Extract<OpenedDraft, { ok: false }>
  | { readonly ok: false; readonly gone: readonly string[] };

interface EarlierDraftRequest {
  readonly source: string;
  readonly signal: AbortSignal;
}

/** The place of a group's first job, or of a job, in the stack; -1 where it is not part of the workspace. */
export function findPlace({ jobs }: JobStack, name: string): number {
  return jobs.findIndex(({ jobId, groupId }) => jobId === name || groupId === name);
}

/** Files with other contents than a state has: null for none, undefined where they are not kept. */
export type OtherFiles = ReadonlyMap<
  string,
  { readonly bytes: Uint8Array | null | undefined; readonly mode: number | null }
>;

/** The files as the jobs of these changes by hand had left them. */
function readLeft(stack: JobStack, edits: readonly HandEdit[]): OtherFiles {
  const left = edits.map(({ path, after, mode }) => {
    const place = stack.jobs.findIndex(({ jobId }) => jobId === after);
    return [path, { bytes: stack.difference(place, path)?.after, mode }] as const;
  });
  return new Map(left);
}

/**
 * The state right after the jobs before this place, or the present (null). A change by hand is in it if it was made before the
 * last of these jobs, by the time of the file, or found by one of them. `handEdits`: those that are in it.
 */
export function openStateAfter(stack: JobStack, place: number | null): EarlierState {
  const { handEdits } = stack.openBefore(0);
  if (place === null) return { ...stack.openBefore(stack.jobs.length), handEdits };
  const state = stack.openBefore(place);
  const placeOf = new Map(stack.jobs.map(({ jobId }, at) => [jobId, at]));
  const moment = stack.jobs[place - 1]?.at ?? 0;
  const begun = handEdits.filter(({ after }) => (placeOf.get(after) ?? place) < place);
  const isIn = ({ after, before, at }: HandEdit) =>
    (placeOf.get(before ?? "") ?? place) < place ||
    (placeOf.get(after) !== place - 1 && at !== null && at < moment);
  const later = begun.filter((edit) => !isIn(edit));
  return withOthers(state, readLeft(stack, later), begun.filter(isIn));
}

function withOthers(state: EarlierState, others: OtherFiles, handEdits: readonly HandEdit[]): EarlierState {
  const { files } = state;
  const find = (path: string) => {
    const other = others.get(path);
    if (other !== undefined && other.bytes === undefined)
      throw new ViewFault("missing", path, `no longer known: ${path}`);
    return other as { readonly bytes: Uint8Array | null; readonly mode: number | null } | undefined;
  };
  return {
    ...state,
    handEdits,
    changed: [...new Set([...state.changed, ...others.keys()])],
    files: {
      ...files,
      look(path) {
        const other = find(path);
        if (other === undefined) return files.look(path);
        return other.bytes === null
          ? { kind: "missing" }
          : { kind: "file", mode: other.mode ?? 0o644, size: other.bytes.length };
      },
      read: (path) => find(path)?.bytes ?? files.read(path),
    },
  };
}

/** Opens a draft over the files before the job at this place (`findPlace`), with `other` contents. Writes only what differs from now. */
export async function openDraftBefore(
  workspace: Pick<Workspace, "openDraft">,
  stack: JobStack,
  place: number,
  { source, signal }: EarlierDraftRequest,
  other: OtherFiles = new Map(),
): Promise<EarlierDraft> {
  const state = stack.openBefore(place);
  if (state.unknown.length > 0) return { ok: false, gone: state.unknown };
  const kept = state.edits().filter(({ path }) => !other.has(path));
  const others = [...other].map(([path, { bytes = null, mode }]) => toEdit([path, bytes, mode]));
  const opened = await openDraftWith(workspace, [...kept, ...others], { source, signal });
  if (!opened.ok) return opened;
  const { draft } = opened;
  const close = async () => {
    await draft.discard(source);
    stack.forgetProbe(draft.id);
  };
  return { ok: true, draft, close };
}

/** A draft without the network and with these edits, which the caller discards. */
export async function openDraftWith(
  workspace: Pick<Workspace, "openDraft">,
  edits: readonly TakenEdit[],
  { source, signal }: EarlierDraftRequest,
): Promise<OpenedDraft> {
  const request = {
    source,
    startedBy: "check" as const,
    checked: true,
    network: false,
    autoCommit: false,
    signal,
  };
  const opened = await workspace.openDraft(request);
  const refusal = opened.ok ? await opened.draft.takeIn(edits, 0) : null;
  if (!opened.ok || refusal === null) return opened;
  await opened.draft.discard(source);
  return { ok: false, refusal };
}

const encoder = new TextEncoder();

/** Its one parameter is a tuple, so that `map` over the entries of a map hands over nothing else. */
export function toEdit([path, content, mode]: readonly [
  path: string,
  content: Uint8Array | string | null,
  mode?: number | null,
]): TakenEdit {
  if (content === null) return { path, entry: { kind: "missing" }, bytes: null };
  const bytes = typeof content === "string" ? encoder.encode(content) : content;
  return { path, entry: { kind: "file", mode: mode ?? 0o644, size: bytes.length }, bytes };
}

/** The files that differ between two states of the workspace. Both sides are undefined where a state is gone. */
export function* walkStates(from: EarlierState, to: EarlierState): Generator<FileDifference> {
  const paths = new Set(
    [...from.changed, ...to.changed].flatMap((path) => [...walkFiles([from.files, to.files], path)]),
  );
  for (const path of [...paths].sort()) {
    const [before, after] = [readState(from, path), readState(to, path)];
    const [was, is] = [modeIn(from, path), modeIn(to, path)];
    const modes = was === null || is === null || was === is ? undefined : ([was, is] as const);
    if (before === undefined || after === undefined || !isSameFile(before, after))
      yield { path, before, after, ...(modes && { modes }) };
    else if (modes !== undefined) yield { path, before: NO_BYTES, after: NO_BYTES, modes };
  }
}

function* walkFiles(sides: readonly WorkspaceFiles[], path: string): Generator<string> {
  const folders = sides.filter((files) => lookSafely(files, path) === "directory");
  if (folders.length < sides.length) yield path;
  for (const name of new Set(folders.flatMap((files) => files.list(path))))
    yield* walkFiles(sides, `${path}/${name}`);
}

function lookSafely(files: WorkspaceFiles, path: string): string {
  try {
    return files.look(path).kind;
  } catch (error) {
    if (error instanceof ViewFault) return "gone";
    throw error;
  }
}

const NO_BYTES = new Uint8Array();

/** The mode of a file of a state; null: not a file. */
function modeIn({ files }: EarlierState, path: string): number | null {
  return attemptOr(null, () => {
    const found = files.look(path);
    return found.kind === "file" ? found.mode & 0o777 : null;
  });
}

/** A file of a state: null: not a file; undefined: missing. */
export function readState({ files }: EarlierState, path: string): Uint8Array | null | undefined {
  try {
    return files.look(path).kind === "file" ? files.read(path) : null;
  } catch (error) {
    if (error instanceof ViewFault) return undefined;
    throw error;
  }
}

export interface BisectRequest {
  readonly command: string;
  readonly timeoutSeconds: number;
  readonly atOnce: number;
  readonly signal: AbortSignal;
  readonly onProbe: (probe: BisectProbe) => void;
}

export interface BisectProbe {
  /** The state after this job; null is the state before the oldest one. */
  readonly after: string | null;
  readonly verdict: "passes" | "fails" | "skipped";
  /** States that may still be the first to fail. */
  readonly left: number;
}

export type BisectEnd =
  | {
      readonly kind: "found";
      /** The job; or the job after which files were changed by hand. */
      readonly culprit:
        | { readonly kind: "job"; readonly jobId: string }
        | { readonly kind: "by-hand"; readonly edits: readonly HandEdit[] };
      /** States that could not be judged (exit code 125) right before it: one of their jobs may be the first instead. */
      readonly skipped: readonly string[];
      readonly probes: number;
    }
  | { readonly kind: "passes-now" }
  /** It fails before the oldest job whose originals are kept. `jobs`: how many there are. */
  | { readonly kind: "fails-before"; readonly jobs: number }
  | { readonly kind: "no-jobs" }
  | { readonly kind: "cannot-run"; readonly message: string };

/** One moment of the workspace: before a job, or after it where changes by hand followed. */
interface Moment {
  /** Of the first job that is not in it yet. */
  readonly place: number;
  readonly other: OtherFiles;
  readonly by:
    | { readonly kind: "job"; readonly jobId: string }
    | { readonly kind: "by-hand"; readonly edits: readonly HandEdit[] }
    | null;
}

/** As `git bisect run` has it: this state cannot be judged. */
const SKIP = 125;

/** The program cannot be started, or is not there (yet). If that is so now, it is the failure whose cause is sought. */
const NOT_RUN = [126, 127];

/** Finds the first job or change by hand after which a command fails. Probes run in drafts, several at once, not in the workspace. */
export async function bisectJobs(
  workspace: Pick<Workspace, "openDraft">,
  stack: JobStack,
  request: BisectRequest,
): Promise<BisectEnd> {
  const oldest = stack.jobs.findLastIndex(({ known }) => !known) + 1;
  const moments = listMoments(stack, oldest);
  if (moments.length < 2) return { kind: "no-jobs" };
  const verdicts = new Map<number, BisectProbe["verdict"]>();
  let probes = 0;
  let trouble: string | null = null;
  let notRunNow: string | null = null;
  let [good, bad] = [0, moments.length - 1];
  const probe = async (at: number) => {
    probes += 1;
    const ran = await runProbe(workspace, stack, moments[at] as Moment, request);
    if ("trouble" in ran) {
      trouble ??= ran.trouble;
      return;
    }
    if (ran.notRun !== undefined && at === moments.length - 1) notRunNow = ran.notRun;
    const isFailure = ran.notRun !== undefined && notRunNow !== null;
    const verdict = isFailure ? "fails" : ran.verdict;
    verdicts.set(at, verdict);
    const { by } = moments[at] as Moment;
    const after = by === null ? null : by.kind === "job" ? by.jobId : (by.edits[0]?.after ?? null);
    request.onProbe({ after, verdict, left: bad - good });
  };
  const run = async (places: readonly number[]) => {
    await Promise.all(places.map(probe));
    return trouble === null;
  };
  const cannotRun = (): BisectEnd => ({ kind: "cannot-run", message: trouble ?? `exit code ${SKIP}` });
  if (!(await run([bad])) || verdicts.get(bad) === "skipped") return cannotRun();
  if (verdicts.get(bad) !== "fails") return { kind: "passes-now" };
  if (!(await run([good]))) return cannotRun();
  const judged = (verdict: BisectProbe["verdict"]) =>
    [...verdicts].flatMap(([at, one]) => (one === verdict ? [at] : []));
  // A project that began as an empty folder fails at first: a state that passed is sought from the present back.
  const backwards = range(0, Math.ceil(Math.log2(bad))).map((n) => bad - 2 ** n);
  while (judged("passes").length === 0) {
    const chosen = backwards.splice(0, request.atOnce);
    if (chosen.length === 0 && notRunNow !== null) return { kind: "cannot-run", message: notRunNow };
    if (chosen.length === 0) return { kind: "fails-before", jobs: stack.jobs.length - oldest };
    if (!(await run(chosen))) return cannotRun();
  }
  for (;;) {
    good = Math.max(...judged("passes"));
    bad = Math.min(...judged("fails").filter((at) => at > good));
    const open = range(good + 1, bad).filter((at) => !verdicts.has(at));
    if (open.length === 0) break;
    if (!(await run(spread(open, request.atOnce)))) return cannotRun();
  }
  const { by } = moments[bad] as Moment;
  const skipped = range(good + 1, bad).flatMap((at) => {
    const change = (moments[at] as Moment).by;
    return change?.kind === "job" ? [change.jobId] : [];
  });
  if (by === null) return { kind: "fails-before", jobs: stack.jobs.length - oldest };
  return { kind: "found", culprit: by, skipped, probes };
}

/** The states from before the oldest known job to the present, each with the change that led to it. */
function listMoments(stack: JobStack, oldest: number): readonly Moment[] {
  if (oldest >= stack.jobs.length) return [];
  const { handEdits } = stack.openBefore(oldest);
  const none: OtherFiles = new Map();
  const moments: Moment[] = [{ place: oldest, other: none, by: null }];
  for (let place = oldest; place < stack.jobs.length; place++) {
    const jobId = stack.jobs[place]?.jobId ?? "";
    const edits = handEdits.filter(({ after }) => after === jobId);
    const other = new Map([...readLeft(stack, edits)].filter(([, { bytes }]) => bytes !== undefined));
    moments.push({ place: place + 1, other, by: { kind: "job", jobId } });
    if (other.size > 0) moments.push({ place: place + 1, other: none, by: { kind: "by-hand", edits } });
  }
  return moments;
}

async function runProbe(
  workspace: Pick<Workspace, "openDraft">,
  stack: JobStack,
  { place, other }: Moment,
  { command, timeoutSeconds, signal }: BisectRequest,
): Promise<
  | (Pick<BisectProbe, "verdict"> & {
      /** What was said where the program did not run. */ readonly notRun?: string;
    })
  | { readonly trouble: string }
> {
  const opened = await openDraftBefore(workspace, stack, place, { source: "bisect", signal }, other);
  if (!opened.ok) return { trouble: "refusal" in opened ? opened.refusal.message : opened.gone.join(", ") };
  try {
    const ran = await opened.draft.check({ commands: [command], over: "draft", timeoutSeconds, signal });
    if (!ran.ok) return { trouble: ran.message };
    const { exitCode = null, output = "" } = ran.runs[0] ?? {};
    if (NOT_RUN.includes(exitCode ?? 0)) return { verdict: "skipped", notRun: output.trim() };
    return { verdict: exitCode === 0 ? "passes" : exitCode === SKIP ? "skipped" : "fails" };
  } finally {
    await opened.close();
  }
}

const range = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);

/** Up to `count` of them that part the rest evenly. */
function spread(open: readonly number[], count: number): number[] {
  const parts = Math.min(count, open.length) + 1;
  return [...new Set(range(1, parts).map((at) => open[Math.floor((at * open.length) / parts)] as number))];
}
