import { findingsByCode } from "../../domain/checks/findings.ts";
import type { Proposal } from "../../domain/coder/proposal.ts";
import { type CheckedFiles, checkEdits } from "../../domain/drafts/check-edits.ts";
import {
  type Change,
  type CommandResult,
  type JobRefusal,
  type JobResult,
  type RedReason,
  type RefusedJob,
  refuseJob,
  succeededResult,
} from "../../domain/jobs/result.ts";
import type { ParsedPatch, PatchCommand, SkippedPart } from "../../domain/patch/patch-command.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { decodeText, isLockFile, isSameFile } from "../../domain/platform/file-bytes.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { holdsNoSources } from "../../domain/policy/protection.ts";
import type { JudgedAttempt, ProjectChecks } from "../checks/project-checks.ts";
import { type Landing, landDraft } from "../drafts/land-draft.ts";
import type { Lending } from "../drafts/lend-draft.ts";
import {
  type OtherChange,
  type SettledCommands,
  type ShownFiles,
  type StaleEdit,
  settleStaleEdits,
} from "../drafts/shown-files.ts";
import type { ProjectFiles } from "../ports/drafts.ts";
import type { FileDifference, JobArchive, JobEvent } from "../ports/jobs.ts";
import type { CheckRun, Draft, DraftRequest, MergedNote } from "../ports/jobs-draft.ts";
import type { HeadProcess } from "../ports/jobs-head.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import type { TakenEdit, WorkspaceFiles } from "../ports/platform-view.ts";

/** Carries out and judges one coder's proposals, each over the files that the earlier ones left. The workspace changes only at `land`. */
export interface Bench {
  files(): ProjectFiles;
  /** Merges blocks for whole files that changed since the coder saw them; a block that cannot be merged must not be carried out. */
  settle(commands: readonly PatchCommand[]): Promise<SettledCommands>;
  carryOut(attempt: BenchAttempt): Promise<CarryOutResult>;
  /** Lets a head work over the files that earlier attempts left. Absent where nothing is staged. */
  readonly workByHead?: (attempt: number, head: HeadProcess) => Promise<CarryOutResult>;
  /** The project's checks over the current draft; null if there is no validation. */
  judge(attempt: number): Promise<JudgedAttempt | null>;
  /** Takes a command that judges where no check of the project does. */
  propose?(check: string): void;
  /** Takes the declarations about red tests, for every later judgement; returns the words without them. */
  declare?(words: string): string;
  /**
   * Runs a command in a scratch view of the draft: later commands see its writes until a proposal runs, and they are never committed.
   * Absent, or null, where there is no such view.
   */
  readonly tryOut?: (command: string, seconds?: number) => Promise<TryOutResult | TryOutRefusal | null>;
  /** The changes that the runs left in the scratch view, all of them or at these paths. Absent where there is no such view. */
  readonly readScratch?: (paths: readonly string[] | null) => Promise<ScratchPatch | TryOutRefusal>;
  /** Lends the draft to sub-agents. Absent where nothing is staged; null where it is refused. */
  readonly lend?: () => Promise<Lending | null>;
  /** Whether the draft received work of sub-agents since the last attempt. */
  readonly hasReturned?: () => boolean;
  /** Commands that affect other systems and have not run. */
  readonly heldCommands?: () => readonly PatchCommand[];
  /** Writes into the journal, if it exists by now. */
  readonly journal?: (event: JobEvent) => void;
  /** Before the draft lands: the last verdict, or a new one if the workspace changed since. */
  confirm(attempt: number): Promise<JudgedAttempt | null>;
  /** Runs, once, the commands that affect other systems; they wait until the rest is green. */
  sendOut(attempt: number): Promise<void>;
  changes(): readonly Change[];
  /** Resets these files of the draft to the workspace's. */
  giveWay(paths: readonly string[]): Promise<void>;
  /** Resets the draft to the workspace, for a coder that knows only its first request. Absent where nothing is staged. */
  startOver?(): Promise<void>;
  /** Remembers the draft and its verdict; the result, once, makes both so again. Absent where nothing is staged; null if it is too large. */
  remember?(): Promise<(() => Promise<boolean>) | null>;
  /** Lands a green draft in its turn. `mayAsk`: whether the coder may still be asked. */
  landInTurn(attempt: number, mayAsk: boolean): Promise<Landing<JudgedAttempt>>;
  /** Lands the draft as it is; if others changed its files meanwhile, it becomes a preview. */
  land(): Promise<JobResult>;
  /** Keeps the draft as a preview. `red`: why it does not land. */
  keep(red?: RedReason): Promise<JobResult>;
  /** Discards the draft. Idempotent, and harmless after its end. */
  drop(reason: string): Promise<void>;
}

/** Why no command can be tried out here. */
export interface TryOutRefusal {
  readonly refused: string;
}

/** The difference of a scratch view as a patch. */
export interface ScratchPatch {
  readonly edits: readonly TakenEdit[];
  /** One for each edit, without contents: the edits are exact bytes. */
  readonly commands: readonly PatchCommand[];
  /** For people and the journal. */
  readonly diff: string;
  readonly skipped: readonly SkippedPart[];
  /** Files whose edits contain what others saved meanwhile. */
  readonly merged: ReadonlySet<string>;
}

export interface TryOutResult {
  /** Null if the command did not end by itself. */
  readonly exitCode: number | null;
  readonly outcome: CheckRun["outcome"];
  /** Up to its end. */
  readonly output: string;
  readonly seconds: number;
  readonly limitSeconds: number;
  /** The seconds that a call may ask for: the rest of the time that all runs have together. */
  readonly mostSeconds: number;
}

interface BenchAttempt {
  /** Counts from 1. */
  readonly number: number;
  readonly proposal: Proposal;
  readonly parsed: ParsedPatch;
  readonly commands: readonly PatchCommand[];
  /** Edits from the scratch view, which are made before the commands. */
  readonly scratch?: ScratchPatch | null;
  /** Files whose blocks were merged with changes of others: the commands then differ from those of the patch. */
  readonly merged?: readonly MergedNote[];
}

export type CarryOutResult =
  /** Nothing could be staged: no proposal will run. */
  | { readonly kind: "refused"; readonly result: RefusedJob }
  | { readonly kind: "aborted" }
  | {
      readonly kind: "ran";
      readonly results: readonly CommandResult[];
      /** Files in which commands overwrote, or removed, what others saved since the coder saw them. */
      readonly stale: readonly StaleEdit[];
    };

export interface DraftBenchDeps {
  readonly workspace: Pick<Workspace, "root" | "openDraft" | "files"> & {
    readonly archive: Pick<JobArchive, "list" | "differences">;
  };
  /** The files of the workspace that the coder has seen. */
  readonly shown: ShownFiles;
  /** When the message began, in milliseconds. */
  readonly since: number;
  readonly request: Omit<DraftRequest, "checked">;
  /** The files of a workspace that a coder may be shown. */
  readonly filesOf: (files: WorkspaceFiles) => ProjectFiles;
  /** Null without a judge. */
  readonly checks: ProjectChecks | null;
  /** Whether a shell command sends something to another system that cannot be undone. */
  readonly reachesOutward: (script: string) => Promise<boolean>;
  /** The time of all runs of a coder in scratch views together. Default: none. */
  readonly runSeconds?: number;
  readonly onOutput: (text: string) => void;
  readonly onEvent: (event: JobEvent) => void;
}

export interface DraftBench extends Bench {
  /** Opens the draft before the coder is asked, if checks are going to judge it, or `always`. */
  begin(options?: { readonly always: boolean }): Promise<void>;
}

/** The time limit for a command that a coder tries out before it writes, unless it asks for another. */
const TRY_OUT_SECONDS = 120;

/** A bench over one draft of a workspace. Without a judge, the draft is opened for the first proposal. */
export function createDraftBench(deps: DraftBenchDeps): DraftBench {
  const { checks, request, workspace, runSeconds = 0 } = deps;
  let draft: Draft | null = null;
  /** Events before the draft was opened, such as which coder was asked. */
  const early: JobEvent[] = [];
  const held: PatchCommand[] = [];
  let attempts = 0;
  let ranMs = 0;
  let lending: Lending | null = null;
  /** Files with work of sub-agents. */
  const returned = new Set<string>();
  let hasReturned = false;
  /** Commands of the last attempt whose result the checks provide. */
  let covered: readonly CoveredCommand[] = [];
  /** The base contents of the commands that were settled last. */
  let bases = new Map<string, Uint8Array | null>();

  /** Tool calls of one answer run at the same time: the first one opens the draft for all. */
  let opening: Promise<Draft | JobRefusal> | null = null;

  function open({ checked = checks?.hasOwn === true } = {}): Promise<Draft | JobRefusal> {
    opening ??= workspace.openDraft({ ...request, checked }).then((opened) => {
      if (opened.ok) {
        draft = opened.draft;
        for (const event of early.splice(0)) draft.journal(event);
      } else opening = null;
      return opened.ok ? opened.draft : opened.refusal;
    });
    return opening;
  }

  function mustBeOpen(): Draft {
    if (draft === null) throw new Error("nothing was carried out yet");
    return draft;
  }

  const whoChanged = (path: string) => findOtherChange(deps, draft?.id, path);

  async function sendOut(attempt: number): Promise<void> {
    if (held.length === 0) return;
    const { onOutput, onEvent } = deps;
    const work = { commands: held.splice(0) };
    await mustBeOpen().run({ attempt, work, once: true, onOutput, onEvent });
  }

  const filesNow = () => deps.filesOf(draft?.files ?? workspace.files);

  async function carryOut({
    number,
    proposal,
    parsed,
    commands,
    scratch = null,
    merged = [],
  }: BenchAttempt): Promise<CarryOutResult> {
    const opened = await open();
    if ("code" in opened) return { kind: "refused", result: refuseJob(workspace.root, opened) };
    attempts++;
    hasReturned = false;
    checks?.propose(proposal.check ?? null);
    const own = ownPaths();
    for (const path of own) made.add(path);
    const { now, later, checked, ...sorted } = await sortCommands(deps, commands);
    held.splice(0, held.length, ...later);
    covered = sorted.covered;
    const taken = scratch === null ? [] : await takeScratch(opened, scratch, number);
    const refused = taken.filter(({ success }) => !success);
    if (refused.length > 0) return { kind: "ran", results: refused, stale: [] };
    const ran = await opened.run({
      attempt: number,
      work: merged.length === 0 ? { patch: proposal.patch, parsed, commands: now } : { commands: now },
      plan: proposal.plan,
      // A sub-agent's change is the coder's own.
      merged: merged.filter(({ path }) => !returned.has(path)),
      bases,
      maySendAgain: true,
      onOutput: deps.onOutput,
      onEvent: deps.onEvent,
    });
    if (ran.about === "refusal") return { kind: "refused", result: ran };
    if (ran.aborted) return { kind: "aborted" };
    const inDraft = [...taken, ...ran.results];
    const stale = await findOverwritten(inDraft, own, scratch);
    if (stale.length === 0) rememberOwn(inDraft);
    const ofChecks = await runChecksOf(deps, opened, number, checked);
    await opened.addResults(ofChecks, number);
    return { kind: "ran", results: [...inDraft, ...ofChecks], stale };
  }

  async function takeScratch(opened: Draft, scratch: ScratchPatch, number: number): Promise<CommandResult[]> {
    const refusal = await opened.takeIn(scratch.edits, number);
    return scratch.commands.map((command) =>
      refusal === null
        ? succeededResult(command, [
            { path: command.target, kind: SCRATCH_KINDS[command.action] ?? "modified" },
          ])
        : { ...succeededResult(command, []), success: false, error: refusal.message },
    );
  }

  async function readScratch(paths: readonly string[] | null): Promise<ScratchPatch | TryOutRefusal> {
    const opened = await open({ checked: true });
    if ("code" in opened) return { refused: opened.message };
    const read = await opened.readScratch?.(`after ${attempts}`);
    if (read?.ok !== true) return { refused: read?.message ?? "there is no scratch view here" };
    const isAsked = (path: string) =>
      paths?.some((one) => isInside(one.replace(/^\.?\/|\/$/g, ""), path)) ?? true;
    const own = ownPaths();
    const edits: TakenEdit[] = [];
    const merged = new Set<string>();
    for (const edit of read.edits) {
      const bytes = isAsked(edit.path) ? await mergeScratch(edit, own) : null;
      if (isAsked(edit.path)) edits.push(bytes === null ? edit : { ...edit, bytes });
      if (bytes !== null) merged.add(edit.path);
    }
    const commands = edits.map(({ path, entry }): PatchCommand => {
      const isNew = opened.files.look(path).kind === "missing";
      const action = entry.kind === "missing" ? "delete" : isNew ? "create" : "update";
      return { type: "file_edit", action, target: path, content: "" };
    });
    const { diffText } = await import("../jobs/job-facts.ts");
    const diff = await diffText(
      edits.map(({ path, bytes }) => ({ path, before: readOrNull(opened.files, path), after: bytes })),
    );
    const missed = (paths ?? []).filter(
      (one) => !edits.some(({ path }) => isInside(one.replace(/^\.?\/|\/$/g, ""), path)),
    );
    const left = read.left.filter(({ path, isOwn }) => isAsked(path) && (paths !== null || isOwn === true));
    const skipped = [
      ...left.map(({ path, why }) => ({ line: 1, text: path, why: `left out: ${why}` })),
      ...missed
        .filter((one) => !left.some(({ path }) => isInside(one, path)))
        .map((path) => ({ line: 1, text: path, why: "not changed in the scratch view" })),
    ];
    return { edits, commands, diff, skipped, merged };
  }

  /** Lines that others saved since the coder saw the file are kept where both changes can be. */
  async function mergeScratch({ path, bytes: ours }: TakenEdit, own: ReadonlySet<string>) {
    const base = deps.shown.bytes(path);
    const theirs = readOrNull(workspace.files, path);
    if (own.has(path) || ours === null || !base || theirs === null || isSameFile(base, theirs)) return null;
    const { mergeFile } = await import("../../domain/platform/merge.ts");
    const merged = mergeFile({ base, ours, theirs });
    return merged.kind === "clean" ? merged.bytes : null;
  }

  /** A command that the checks cover gets their result; if no check ran it, it is run, unless the draft is red. */
  async function judge(attempt: number): Promise<JudgedAttempt | null> {
    if (checks === null) return null;
    const open = mustBeOpen();
    const judged = await checks.judge(open, attempt);
    const { formatted, onlyWith } = findingsByCode(judged.facts);
    if (formatted !== undefined) rememberPaths(open.changes());
    if (covered.length === 0 || request.signal.aborted) return judged;
    const waiting = covered;
    covered = [];
    const isRed = judged.verdict === "red";
    // Runs with the old versions of deciding files are not runs of this draft.
    const runs = isRed && onlyWith !== undefined ? [] : judged.runs;
    const results: CommandResult[] = [];
    for (const one of waiting) {
      const { command, line } = one;
      // A failing part of a check's tests fails the whole of it, too.
      const fails = (run: CheckRun) => isRed && run.partOf === line && (run.exitCode ?? 0) !== 0;
      const run = runs.find((each) => each.command === line || fails(each));
      if (run !== undefined) results.push(asResult(command, run));
      else if (isRed) covered = [...covered, one];
      else results.push(...(await runChecksOf(deps, open, attempt, [command])));
    }
    await open.addResults(results, attempt);
    return judged;
  }

  /** The coder knows the files that it has just edited, whether or not they are shown to it again. */
  function rememberOwn(results: readonly CommandResult[]): void {
    rememberPaths(results.flatMap(({ command, changes }) => (command.type === "file_edit" ? changes : [])));
  }

  function rememberPaths(changes: readonly Change[]): void {
    const files = watchFiles();
    for (const { path } of changes) files.read(path, 0);
  }

  const changedMeanwhile = (path: string) =>
    (workspace.files.changedAt?.(path) ?? 0) >= deps.since - CLOCK_SLACK_MS;

  /** `own`: paths that the draft had changed before, whose base is known to it. */
  async function findOverwritten(
    results: readonly CommandResult[],
    own: ReadonlySet<string>,
    scratch: ScratchPatch | null,
  ): Promise<readonly StaleEdit[]> {
    const isEdit = ({ command }: CommandResult) =>
      command.type === "file_edit" && scratch?.commands.includes(command) !== true;
    const paths = (some: readonly CommandResult[]) =>
      new Set(some.flatMap(({ changes }) => changes.map(({ path }) => path)));
    const edited = paths(results.filter(isEdit));
    // Lock files and folders that tools fill are computed from the other files.
    const written = [...paths(results.filter((result) => !isEdit(result)))].filter(
      (path) =>
        !edited.has(path) &&
        !own.has(path) &&
        scratch?.merged.has(path) !== true &&
        !isLockFile(path) &&
        !path.split("/").slice(0, -1).some(holdsNoSources),
    );
    const stale = await Promise.all(
      written.map((path) =>
        overwrittenFile(path, scratch?.edits.some((edit) => edit.path === path) === true),
      ),
    );
    return stale.filter((one) => one !== null);
  }

  /** Null: the coder saw the file as it was, or the change of others is still in it. */
  async function overwrittenFile(path: string, isEdited: boolean): Promise<StaleEdit | null> {
    const theirs = readOrNull(workspace.files, path);
    if (theirs === null) return null;
    const base = deps.shown.bytes(path);
    if (base === undefined ? !changedMeanwhile(path) : isSameFile(base, theirs)) return null;
    const ours = readOrNull(mustBeOpen().files, path);
    if (ours !== null) {
      const { keepsOthersLines } = await import("../../domain/platform/merge.ts");
      // An edit of known lines recomputes nothing: where both cannot be merged, it is a conflict.
      const mayKeep = !isEdited || base === undefined;
      if (isSameFile(ours, theirs) || (mayKeep && keepsOthersLines({ base, ours, theirs }))) return null;
    }
    const text = (bytes: Uint8Array | null | undefined) =>
      bytes === null || bytes === undefined ? bytes : (decodeText(bytes) ?? undefined);
    const what = ours === null ? "delete" : "conflict";
    return { path, what, shown: text(base), yours: text(ours), other: whoChanged(path) };
  }

  /** Files that attempts before the last one changed. */
  const made = new Set<string>();

  /** A file that the coder made and removed again was not changed by others. */
  const isTakenBack = (path: string, source: CheckedFiles) =>
    made.has(path) && source.judges(path) && source.look(path).kind === "missing";

  const ownPaths = () => new Set(draft?.changes().map(({ path }) => path));

  const isSavedSince = (path: string) => (workspace.files.changedAt?.(path) ?? 0) > deps.since;

  const watchFiles = () => deps.shown.watch(filesNow(), ownPaths, isSavedSince);

  /** Files that others changed while the coder worked, and that contain nothing of that change any more. */
  async function findReplaced(opened: Draft): Promise<MergedNote[]> {
    const changed = opened.diff().flatMap(({ path, before, after }) => {
      const first = deps.shown.firstBytes(path);
      const isKnown = first !== undefined && before !== undefined && after !== undefined;
      return isKnown && !isSameFile(first, before) ? [{ path, first, before, after }] : [];
    });
    if (changed.length === 0) return [];
    const { keepsOthersLines } = await import("../../domain/platform/merge.ts");
    return changed.flatMap(({ path, first: base, before: theirs, after: ours }) =>
      keepsOthersLines({ base, ours, theirs })
        ? []
        : [{ path, by: whoChanged(path).job?.jobId ?? null, lost: true as const }],
    );
  }

  async function startOver(): Promise<void> {
    const paths = [...ownPaths()];
    await draft?.giveWay(paths);
    deps.shown.asFirst(paths);
  }

  return {
    async begin({ always } = { always: false }) {
      if (checks?.hasOwn !== true && !always) return;
      const opened = await open();
      if (!("code" in opened)) checks?.begin(opened);
    },
    files: watchFiles,
    settle(commands) {
      const own = ownPaths();
      const { source } = filesNow();
      bases = new Map();
      return settleStaleEdits(
        {
          files: {
            judges: (path) => source.judges(path),
            look(path) {
              const entry = source.look(path);
              if (!own.has(path) && (entry.kind === "file" || entry.kind === "missing"))
                bases.set(path, entry.kind === "file" ? entry.bytes : null);
              return entry;
            },
          },
          shown: deps.shown,
          changedMeanwhile,
          whoChanged,
        },
        commands,
      );
    },
    carryOut,
    async workByHead(number, head) {
      const opened = await open({ checked: true });
      if ("code" in opened) return { kind: "refused", result: refuseJob(workspace.root, opened) };
      attempts++;
      const ran = await opened.run({
        attempt: number,
        work: { head },
        onOutput: deps.onOutput,
        onEvent: deps.onEvent,
      });
      if (ran.about === "refusal") return { kind: "refused", result: ran };
      return ran.aborted ? { kind: "aborted" } : { kind: "ran", results: ran.results, stale: [] };
    },
    async tryOut(command, seconds = TRY_OUT_SECONDS) {
      const opened = await open({ checked: true });
      if ("code" in opened) return null;
      const left = Math.floor(runSeconds - ranMs / 1000);
      if (left < 1) return { refused: `the ${runSeconds} seconds of all runs are used up` };
      const limitSeconds = Math.min(Math.max(1, seconds), left);
      const tried = await opened.check({
        commands: [checks?.withSettings(command) ?? command],
        over: "draft",
        startedBy: "model",
        // A further attempt changes the layer below.
        scratch: `after ${attempts}`,
        attempt: 0,
        timeoutSeconds: limitSeconds,
        onOutput: deps.onOutput,
      });
      if (!tried.ok) return { refused: tried.message };
      const [run] = tried.runs;
      if (run === undefined) return null;
      const { exitCode, outcome, output, durationMs } = run;
      ranMs += durationMs;
      // A run that did not end by itself judges nothing in time.
      if (exitCode !== null) checks?.say({ name: "ran", text: command.replaceAll(workspace.root, ".") });
      const mostSeconds = Math.floor(runSeconds - ranMs / 1000);
      return { exitCode, outcome, output, seconds: durationMs / 1000, limitSeconds, mostSeconds };
    },
    readScratch,
    async lend() {
      if (lending !== null) return lending;
      const opened = await open({ checked: true });
      if ("code" in opened) return null;
      const { createLending } = await import("../drafts/lend-draft.ts");
      lending ??= createLending({
        workspace,
        lender: opened,
        onTaken(paths) {
          // Scratch views are layered over the earlier state.
          if (paths.length > 0) attempts++;
          hasReturned ||= paths.length > 0;
          for (const path of paths) returned.add(path);
        },
      });
      return lending;
    },
    hasReturned: () => hasReturned,
    heldCommands: () => held,
    journal: (event) => void (draft === null ? early.push(event) : draft.journal(event)),
    propose: (check) => checks?.propose(check),
    declare: (words) => checks?.declare(words) ?? words,
    judge,
    async confirm(attempt) {
      return checks === null ? null : checks.confirm(mustBeOpen(), attempt);
    },
    sendOut,
    async landInTurn(attempt, mayAsk) {
      const open = mustBeOpen();
      const landed = await landDraft({
        draft: open,
        checks,
        attempt,
        mayAsk,
        whoChanged,
        outdated() {
          if (!mayAsk) return [];
          const own = ownPaths();
          // A copy lacks the files that the job does not see.
          const isThere = (path: string) =>
            readOrNull(open.files, path) !== null || readOrNull(workspace.files, path) === null;
          const { source } = filesNow();
          return deps.shown
            .takeChanged(source)
            .filter((path) => !own.has(path) && isThere(path) && !isTakenBack(path, source));
        },
        replaced: () => findReplaced(open),
        sendOut: () => sendOut(attempt),
        files: workspace.files,
      });
      // A head reads files itself: the base of its edits is known only now.
      if (landed.kind === "conflict")
        for (const { path, shown: base } of landed.stale)
          if (base !== undefined)
            deps.shown.knowFirst(path, base === null ? null : new TextEncoder().encode(base));
      return landed;
    },
    changes: () => draft?.changes() ?? [],
    giveWay: async (paths) => draft?.giveWay(paths),
    startOver,
    async remember() {
      const opened = mustBeOpen();
      const { copyChanges } = await import("../drafts/lend-draft.ts");
      const edits = copyChanges(opened);
      const recall = checks?.remember();
      if (edits === null) return null;
      return async () => {
        await startOver();
        if ((await opened.takeIn(edits, attempts)) !== null) return false;
        recall?.();
        return true;
      };
    },
    land: () => mustBeOpen().commit(),
    keep: (red) => mustBeOpen().keep(red),
    async drop(reason) {
      await draft?.discard(reason);
    },
  };
}

function readOrNull(files: WorkspaceFiles, path: string): Uint8Array | null {
  return attemptOr(null, () => (files.look(path).kind === "file" ? files.read(path) : null));
}

const SCRATCH_KINDS: Readonly<Record<string, Change["kind"]>> = { create: "added", delete: "deleted" };

/** The kernel's clock for files runs a few milliseconds behind. */
const CLOCK_SLACK_MS = 20;

/** The job that changed a path since the message began. */
function findOtherChange(
  { workspace: { archive }, since }: DraftBenchDeps,
  own: string | undefined,
  path: string,
): OtherChange {
  const job = archive
    .list(["committed"])
    .findLast(
      ({ jobId, stateAt, changes }) =>
        jobId !== own && Date.parse(stateAt) >= since && changes.some((change) => change.path === path),
    );
  if (job === undefined) return { job: null };
  const gone = job.changes.some((change) => change.path === path && change.kind === "deleted");
  const movedTo = gone ? findNewPath(archive.differences(job.jobId), path) : undefined;
  return { job, ...(movedTo !== undefined && { movedTo }) };
}

/** Where a job moved a file to: the new file with the same bytes. */
function findNewPath(differences: readonly FileDifference[], path: string): string | undefined {
  const before = differences.find((one) => one.path === path)?.before;
  if (!before) return undefined;
  return differences.find(
    (one) => one.path !== path && one.before === null && one.after && Buffer.compare(one.after, before) === 0,
  )?.path;
}

interface CoveredCommand {
  readonly command: PatchCommand;
  /** The line of the check that runs it. */
  readonly line: string;
}

async function sortCommands({ checks, reachesOutward }: DraftBenchDeps, commands: readonly PatchCommand[]) {
  const now: PatchCommand[] = [];
  /** Commands that affect other systems: they wait until the rest is green. */
  const later: PatchCommand[] = [];
  /** Checks that only the coder proposed: their output is shown to the coder, and the files that they write are discarded. */
  const checked: PatchCommand[] = [];
  const covered: CoveredCommand[] = [];
  for (const command of commands) {
    const script = command.type === "shell_command" ? `${command.target}\n${command.content}` : "";
    if (script !== "" && checks?.isCheck(script.trim()) === true) checked.push(command);
    else if (script !== "" && (await reachesOutward(script))) later.push(command);
    else now.push(command);
  }
  // With changes to judge, the checks run anyway: only calls that differ from theirs are run as well.
  if (now.length === 0) return { now, later, checked, covered };
  const beside = checked.filter((command) => {
    const line = checks?.covers(`${command.target}\n${command.content}`.trim());
    if (line !== undefined) covered.push({ command, line });
    return line === undefined;
  });
  return { now, later, checked: beside, covered };
}

async function runChecksOf(
  { checks, onOutput }: DraftBenchDeps,
  draft: Draft,
  attempt: number,
  commands: readonly PatchCommand[],
): Promise<CommandResult[]> {
  if (checks === null || commands.length === 0) return [];
  const checked = await draft.check({
    commands: commands.map(({ target }) => target),
    over: "draft",
    attempt,
    timeoutSeconds: checks.timeoutSeconds,
    onOutput,
  });
  if (!checked.ok) return [];
  return checked.runs.map((run, at) => asResult(commands[at] as PatchCommand, run));
}

function asResult(command: PatchCommand, { exitCode, outcome, output, durationMs }: CheckRun): CommandResult {
  const success = exitCode === 0;
  return {
    command,
    success,
    checked: true,
    output,
    error: success ? "" : exitCode === null ? outcome : `exit status ${exitCode}`,
    process: { exitCode, stdout: output, stderr: "" },
    duration: durationMs,
    changes: [],
    notes: [],
  };
}

export interface PlainBenchDeps {
  readonly files: ProjectFiles;
  readonly execute: (attempt: BenchAttempt) => Promise<JobResult>;
}

/** Without a draft, for a dry run and where nothing can be staged: edits are only tried, and landing executes the last proposal. */
export function createPlainBench({ files, execute }: PlainBenchDeps): Bench {
  let last: BenchAttempt | null = null;
  const executed = () => {
    if (last === null) throw new Error("nothing was proposed yet");
    return execute(last);
  };
  return {
    files: () => files,
    settle: async (commands) => ({ commands, merged: [], stale: [] }),
    async carryOut(attempt) {
      last = attempt;
      const checked = checkEdits(attempt.commands, files.source, files.planOptions);
      const command = attempt.commands.find(({ edit }) => edit !== undefined);
      if (checked.ok || command === undefined) return { kind: "ran", results: [], stale: [] };
      const failed = { command, success: false, output: checked.report, error: "does not match the files" };
      return { kind: "ran", results: [{ ...failed, duration: 0, changes: [], notes: [] }], stale: [] };
    },
    judge: async () => null,
    confirm: async () => null,
    sendOut: async () => {},
    changes: () => [],
    giveWay: async () => {},
    landInTurn: async () => ({ kind: "ended", result: await executed() }),
    land: executed,
    keep: executed,
    drop: async () => {},
  };
}
