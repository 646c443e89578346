import { toChecksRecord } from "../../domain/checks/findings.ts";
import { firstFailure } from "../../domain/checks/read-results.ts";
import { type GoalTests, SMALL_WORDS } from "../../domain/coder/answer-form.ts";
import {
  completeItems,
  hasFlag,
  looksLikePatch,
  type Proposal,
  provesFix,
  type RankedCoderCandidate,
  type ReadProposal,
  rankCoderCandidates,
  readNoChange,
  readProposal,
} from "../../domain/coder/proposal.ts";
import { findNotWhole, isBareSource, type ParsesSource } from "../../domain/coder/whole-file.ts";
import { alteredFiles, doubtfulEdits } from "../../domain/drafts/check-edits.ts";
import { type CommandResult, type JobResult, nameJob } from "../../domain/jobs/result.ts";
import type {
  ParsedPatch,
  ParseResult,
  PatchCommand,
  SkippedPart,
} from "../../domain/patch/patch-command.ts";
import { paragraphs } from "../../domain/texts/jobs-report.ts";
import { languageOf } from "../../domain/texts/locale.ts";
import type { WordsByLocale } from "../../domain/texts/worded.ts";
import type { JudgedAttempt } from "../checks/project-checks.ts";
import { type ContestedFile, type StaleEdit, wordStaleEdits } from "../drafts/shown-files.ts";
import type { Advise } from "../platform/advise.ts";
import type { CoderEnd, CoderEnding, CoderStopReason, RedAttempt, SentBackReason } from "../ports/coder.ts";
import type { ProjectFiles } from "../ports/drafts.ts";
import type { ModelMessage } from "../ports/models.ts";
import type { Bench, CarryOutResult } from "./bench.ts";
import {
  failureMark,
  findHookRed,
  findRedAttempt,
  linesNamedIn,
  linesToShowAgain,
  showAfterRun,
  showAgain,
  showFailedEdits,
  wordDoubts,
  wordFailures,
  wordSkipped,
  wordStatuses,
  wordUnread,
} from "./coder-reports.ts";
import type { AskedContext } from "./explorer.ts";

export interface CoderLoop {
  /** A model that proposes, or an agent that works in the draft by itself. */
  readonly coder:
    | {
        readonly kind: "model";
        /** The user's words: what they name may be removed. */
        readonly request: string;
        readonly parses: ParsesSource;
        /** Asks the coder, with the exchange since the request. `varied`: how many tries before asked otherwise than the first. */
        readonly ask: (exchange: readonly ModelMessage[], varied: number) => Promise<CoderAnswer>;
        /** Whether a try costs time alone: then an answer that repeats itself is asked for otherwise, and is not the end. */
        readonly isFree: () => boolean;
        /** Whether it is a small model, which repeats an answer that it sees: each try is asked from the beginning. */
        readonly isSmall: () => boolean;
      }
    | { readonly kind: "head"; readonly work: WorkByHead };
  readonly bench: Bench;
  /** Words the files and searches that the coder asks for before it writes. */
  readonly show: (files: ProjectFiles, asked: AskedContext) => string;
  readonly limits: {
    readonly attempts: number;
    /** Rounds in which the coder may ask for files. */
    readonly explore: number;
    readonly onRed: "preview" | "apply" | "discard";
    /** Characters of files that are shown with a report. */
    readonly shownChars: number;
  };
  /** The coder only writes a plan; nothing is carried out. */
  readonly planOnly: boolean;
  /** Keeps a green draft as a preview, too. */
  readonly preview: boolean;
  /** The user's messages since the last call. */
  readonly steering: () => readonly string[];
  /** Where several coders work on a message: whether this one's draft is taken. Called once, when it would end. */
  readonly chosen?: (ending: CoderEnding) => Promise<boolean>;
  /** Hands the draft to another coder, except these files, which others changed as well. */
  readonly handOver?: (ending: CoderEnding, contested: readonly ContestedFile[]) => Promise<void>;
  readonly signal: AbortSignal;
  readonly tell: (event: CoderEvent) => void;
  readonly mask: (text: string) => string;
  readonly advise: Advise;
}

type ModelCoder = Extract<CoderLoop["coder"], { kind: "model" }>;

export type CoderAnswer =
  | {
      readonly ok: true;
      readonly text: string;
      /** Whether the coder was shown that file whole. */
      readonly shown: (path: string) => boolean;
      /** For a model that often leaves out the path of a block: the files that the request is about. */
      readonly asked?: readonly string[];
      /** For such a model: the tests that it may only add to. */
      readonly goal?: GoalTests | null;
    }
  /** `text` is for the user. `isEndless`: the answer was ended because it had no end. */
  | { readonly ok: false; readonly text: WordsByLocale; readonly isEndless?: boolean };

/** One turn of an agent, until it has nothing more to do. `back`: the loop's reply to it; null in the first turn. */
export type WorkByHead = (attempt: number, back: string | null) => Promise<HeadWorkResult>;

export type HeadWorkResult =
  | Exclude<CarryOutResult, { kind: "ran" }>
  | { readonly kind: "ran"; readonly summary: string; readonly results: readonly CommandResult[] }
  /** The agent stopped before it was done; `text` is for the user. */
  | { readonly kind: "unanswered"; readonly text: WordsByLocale };

/** How a coder looks up what it was not shown: in files, by a search, by a command, or by a tool of an MCP server. */
export type CoderLook = "read" | "search" | "run" | "call";

/** The events that an observer receives. */
export type CoderEvent =
  /** The coder asks to see more before it writes. */
  | { readonly type: "asks"; readonly how: CoderLook; readonly wanted: readonly string[] }
  | {
      readonly type: "proposed";
      readonly attempt: number;
      readonly proposal: Proposal;
      readonly commands: readonly PatchCommand[];
    }
  | { readonly type: "doing"; readonly attempt: number; readonly doing: "asking" | "running" | "checking" }
  /** An attempt is sent back; `brief` describes the problem. */
  | {
      readonly type: "sent-back";
      readonly attempt: number;
      readonly of: number;
      readonly brief: string;
      /** Why the answer was not carried out, if it was not. */
      readonly reason?: SentBackReason;
    }
  /** Others changed the same lines of these files meanwhile; `jobs`: those that did. */
  | { readonly type: "contested"; readonly paths: readonly string[]; readonly jobs: readonly string[] }
  | { readonly type: "steered"; readonly messages: number };

interface LoopState {
  readonly exchange: ModelMessage[];
  attempts: number;
  explored: number;
  proposal: Proposal | null;
  red: RedAttempt | null;
  /** The red draft whose checks were the best so far: the one that is kept. Null where drafts do not begin again. */
  best: BestDraft | null;
  /** The earlier attempt whose draft was put in the place of the last one. */
  kept: number | null;
  /** Identifies the last failure, so that the same one ends the loop. */
  mark: string;
  /** How many tries were asked for otherwise than the one before: at another temperature, without its answer. */
  varied: number;
  /** The next proposal replaces the draft instead of adding to it. */
  startsOver: boolean;
  /** Nothing but edits that failed was carried out, and the user added nothing: the draft can begin again. */
  mayStartOver: boolean;
  /** How often an edit of a file matched nothing. */
  readonly mismatched: Map<string, number>;
  readonly tried: string[];
  readonly asked: Set<string>;
  /** Files that the coder was warned about. */
  readonly told: Set<string>;
  /** Rounds that were sent back because others changed the same lines; they do not count as attempts. */
  conflicts: number;
  /** Files whose conflict was sent back and is open: without them the draft is incomplete. */
  contested: readonly string[];
  /** Parts of its answers that were sent back, by their text: each is sent back once. */
  readonly returned: Set<string>;
  /** Parts of its last answer that nothing carried out. */
  skipped: readonly SkippedPart[];
  /** The tests that its request names as right. */
  goal: GoalTests | null;
  /** Answers to the user besides proposals. */
  readonly answers: string[];
  /** A proposal of which some blocks could not be read, and are asked for again. */
  unread: UnreadProposal | null;
  /** An answer without a patch and without such a reason, about which the coder was asked; null if there is none. */
  doubted: string | null;
}

interface BestDraft {
  readonly attempt: number;
  readonly proposal: Proposal;
  readonly red: RedAttempt;
  readonly rank: RankedCoderCandidate;
  readonly restore: () => Promise<boolean>;
}

function isGreen({ red, proposal }: LoopState): boolean {
  return red === null && proposal !== null;
}

/** The user stopped the work: ending an aborted draft discards its changes, and its job says so. */
async function endStopped({ bench }: CoderLoop, state: LoopState): Promise<CoderEnd> {
  if (state.proposal === null) return { kind: "aborted" };
  return endWorked({ ...state, red: null }, await bench.land(), null, "");
}

/** The end of a coder whose draft is not taken; null if it is taken, or if the coder works alone. */
async function endPassedOver(
  { chosen, signal, bench }: CoderLoop,
  state: LoopState,
  attempts: number,
): Promise<CoderEnd | null> {
  const { proposal, red } = state;
  if (chosen === undefined || proposal === null) return null;
  if (!(await chosen({ proposal, red, attempts }))) return { kind: "passed-over" };
  return signal.aborted ? endWorked({ ...state, red: null }, await bench.land(), null, "") : null;
}

/** A coder that gets no further answer or attempt. */
interface GivenUp {
  readonly loop: CoderLoop;
  readonly state: LoopState;
  readonly stopped: CoderStopReason;
  readonly words: string;
  /** Why its last answer was not carried out; null where it was. */
  readonly reason: SentBackReason | null;
}

/** Null: the next step decides. */
type EndStep = (given: GivenUp) => Promise<CoderEnd | null>;

/** Decides the end of a draft that cannot become green: the first step that applies decides. */
const END_STEPS: readonly EndStep[] = [
  keepUnsettled,
  landGreenDraft,
  endWithoutDraft,
  ({ loop, state }) => endPassedOver(loop, state, state.attempts),
  landDoubtful,
  endWithoutChange,
  landWithFailedCommands,
];

async function endGivenUp(
  loop: CoderLoop,
  state: LoopState,
  stopped: CoderStopReason,
  words = "",
  reason: SentBackReason | null = null,
): Promise<CoderEnd> {
  await restoreBest(loop, state);
  for (const step of END_STEPS) {
    const end = await step({ loop, state, stopped, words, reason });
    if (end !== null) return end;
  }
  switch (loop.limits.onRed) {
    case "apply":
      return endWorked(state, await loop.bench.land(), stopped, words);
    case "preview":
      return endWorked(state, await loop.bench.keep(state.red?.kind), stopped, words);
    case "discard":
      return endWorked(state, null, stopped, words);
  }
}

/** Puts the best of several red drafts in the place of the last one. */
async function restoreBest({ limits }: CoderLoop, state: LoopState): Promise<void> {
  const { best, red, attempts } = state;
  const isLast = best === null || best.proposal === state.proposal;
  if (isLast || red === null || red.lands === true || limits.onRed === "discard" || !state.mayStartOver)
    return;
  state.best = null;
  if (!(await best.restore())) return;
  state.proposal = best.proposal;
  state.red = best.red;
  state.kept = best.attempt === attempts ? null : best.attempt;
}

/** Remembers a red draft that its checks show to be no worse than the best one before. */
async function rememberBest(
  { bench }: CoderLoop,
  state: LoopState,
  attempt: number,
  { facts }: JudgedAttempt,
): Promise<void> {
  const { red, proposal, best, mayStartOver } = state;
  if (red === null || red.lands === true || proposal === null || !mayStartOver) return;
  if (bench.changes().length === 0) return;
  const checks = toChecksRecord(facts);
  const rank = { outcome: red.kind, checks, provesFix: provesFix(checks), size: 0 };
  if (best !== null && rankCoderCandidates([rank, best.rank]).ranked[0] !== rank) return;
  const restore = await bench.remember?.();
  if (restore != null) state.best = { attempt, proposal, red, rank, restore };
}

async function keepUnsettled({ loop, state, words }: GivenUp): Promise<CoderEnd | null> {
  return state.contested.length === 0 ? null : endUnsettled(loop, state, words);
}

/** A later answer that failed does not keep a green draft from landing. */
async function landGreenDraft({ loop, state, stopped, words, reason }: GivenUp): Promise<CoderEnd | null> {
  if (!isGreen(state)) return null;
  if (words !== "") state.answers.push(words);
  const step = await commitBench(loop, state, state.attempts, [], { steered: false });
  if ("end" in step) return step.end;
  if (state.red !== null) return endGivenUp(loop, state, stopped, "", reason);
  state.red = { kind: "conflict", failed: [], brief: state.contested.join(", ") };
  return endContested(loop, state);
}

async function endWithoutDraft({ state, stopped, words, reason }: GivenUp): Promise<CoderEnd | null> {
  if (state.red !== null) return null;
  if (stopped.why !== "unanswered")
    return { kind: "unusable", why: words, ...(reason !== null && { reason }) };
  const { doubted } = state;
  return { kind: "unanswered", text: stopped.text, ...(doubted !== null && { claimed: doubted }) };
}

/** A doubtful draft lands if the coder does not improve it. */
async function landDoubtful({ loop, state, words }: GivenUp): Promise<CoderEnd | null> {
  const { bench, preview } = loop;
  if (state.red?.lands !== true || (await bench.confirm(state.attempts))?.verdict === "red") return null;
  await bench.sendOut(state.attempts);
  return endWorked({ ...state, red: null }, await (preview ? bench.keep() : bench.land()), null, words);
}

/** A red draft without changes has nothing to keep; its job reports what the commands did. */
async function endWithoutChange({ loop, state, stopped, words }: GivenUp): Promise<CoderEnd | null> {
  const isOfNothing = state.red?.kind === "failing" || state.red?.kind === "still-red";
  if (!isOfNothing || loop.bench.changes().length > 0) return null;
  return endWorked(state, await loop.bench.land(), stopped, words);
}

/** If only commands failed, and no edit, the project's checks decide whether the draft lands. */
async function landWithFailedCommands(given: GivenUp): Promise<CoderEnd | null> {
  const { loop, state, stopped, words } = given;
  const { red, attempts } = state;
  if (red?.kind !== "failing" || red.failed.some(({ command }) => command.type === "file_edit")) return null;
  if ((await loop.bench.judge(attempts))?.verdict !== "green") return null;
  const landed = await loop.bench.landInTurn(attempts, false);
  return landed.kind === "ended" ? endWorked(state, landed.result, stopped, words) : null;
}

/** Others changed the same lines, and the conflict is not resolved: under every `onRed`, the draft must not overwrite them. */
async function endContested(
  { bench, limits, handOver }: CoderLoop,
  state: LoopState,
  contested: readonly ContestedFile[] = [],
): Promise<CoderEnd> {
  const { proposal, red, attempts } = state;
  if (handOver !== undefined && proposal !== null) {
    await handOver({ proposal, red, attempts }, contested);
    return { kind: "passed-over" };
  }
  const result = limits.onRed === "discard" ? null : await bench.keep("conflict");
  return endWorked(state, result, { why: "conflict" }, "");
}

/** The coder answered a conflict without an edit: the rest alone is not the whole change, so it does not land. */
async function endUnsettled(loop: CoderLoop, state: LoopState, words: string): Promise<CoderEnd> {
  // Without any change, the words are the whole answer.
  if (words !== "" && loop.bench.changes().length === 0) return { kind: "said", text: words };
  if (words !== "") state.answers.push(words);
  state.red = { kind: "conflict", failed: [], brief: state.contested.join(", ") };
  const contested = state.contested.map((path) => ({ path, shown: undefined, yours: undefined }));
  return endContested(loop, state, contested);
}

function endWorked(
  { proposal, attempts, kept, red, tried, answers }: LoopState,
  result: Extract<CoderEnd, { kind: "worked" }>["result"],
  stopped: CoderStopReason | null,
  words: string,
): CoderEnd {
  if (proposal === null) throw new Error("a coder's work ended without a proposal");
  const said = [...answers, words].filter((text) => text !== "").join("\n\n");
  const why = findHookRed(result) ?? red;
  return {
    kind: "worked",
    proposal,
    result,
    story: { attempts, ...(kept !== null && { best: kept }), red: why, stopped, tried, words: said },
  };
}

/** The result of an answer: the end, a reply to it, or another try without it; `isFresh`: without the earlier exchange, too. */
type CoderStep =
  | { readonly end: CoderEnd }
  | { readonly back: string }
  | { readonly retry: string; readonly isFresh: boolean };

/**
 * Runs one coder on one message:
 *   ask → read the answer → execute its patch on the bench → judge → send back failures → ask again
 * until the draft is green, the attempts are used up, or the same failure occurs twice (where tries are free, the next one is asked for
 * otherwise instead: at another temperature, from the beginning, without the failed answer; a small model's next one always is). Then one
 * job lands, or `onRed` decides about the red draft.
 */
export async function coderLoop(loop: CoderLoop): Promise<CoderEnd> {
  const state: LoopState = {
    exchange: [],
    attempts: 0,
    explored: 0,
    proposal: null,
    red: null,
    best: null,
    kept: null,
    mark: "",
    varied: 0,
    startsOver: false,
    mayStartOver: true,
    mismatched: new Map(),
    tried: [],
    asked: new Set(),
    told: new Set(),
    conflicts: 0,
    contested: [],
    returned: new Set(),
    skipped: [],
    goal: null,
    answers: [],
    doubted: null,
    unread: null,
  };
  let reason = "";
  try {
    const end = await untilEnd(loop, state);
    reason = wordDropReason(end);
    return end;
  } finally {
    await loop.bench.drop(reason);
  }
}

/** Why a draft is dropped, for the journal. */
function wordDropReason(end: CoderEnd): string {
  switch (end.kind) {
    case "said":
      return end.isExplained === false ? "answered: unexplained" : "answered";
    case "planned":
      return "answered";
    case "unanswered":
      return `unanswered: ${(end.text.en ?? "").split("\n", 1)[0]}`;
    case "unusable":
      return `unusable: ${end.reason?.kind ?? end.why.split("\n", 1)[0]}`;
    case "aborted":
      return "aborted";
    default:
      return "";
  }
}

async function untilEnd(loop: CoderLoop, state: LoopState): Promise<CoderEnd> {
  for (;;) {
    if (loop.signal.aborted) return await endStopped(loop, state);
    const { said, step } =
      loop.coder.kind === "model"
        ? await askModel(loop, state, loop.coder.ask)
        : { said: "", step: await workByHead(loop, state, loop.coder.work) };
    if ("end" in step) return step.end;
    const steered = wordSteering(loop);
    if (steered !== "") state.mayStartOver = false;
    if ("back" in step) state.exchange.push({ role: "assistant", text: said });
    else if (step.isFresh) state.exchange.splice(0);
    const before = state.exchange.at(-1)?.role === "user" ? (state.exchange.pop()?.text ?? "") : "";
    const words = "back" in step ? step.back : before.includes(step.retry) ? "" : step.retry;
    const text = paragraphs([before, words, steered]);
    if (text !== "") state.exchange.push({ role: "user", text });
  }
}

async function askModel(
  loop: CoderLoop,
  state: LoopState,
  ask: ModelCoder["ask"],
): Promise<{ readonly said: string; readonly step: CoderStep }> {
  loop.tell({ type: "doing", attempt: state.attempts + 1, doing: "asking" });
  const answer = await ask(state.exchange, state.varied);
  if (loop.signal.aborted) return { said: "", step: { end: await endStopped(loop, state) } };
  if (!answer.ok) return { said: "", step: await takeUnanswered(loop, state, answer) };
  return { said: answer.text, step: await takeAnswer(loop, state, answer) };
}

/** An endless answer is a try that says nothing: it is not sent back, and the next one is asked for otherwise. */
async function takeUnanswered(
  loop: CoderLoop,
  state: LoopState,
  { text, isEndless = false }: Extract<CoderAnswer, { ok: false }>,
): Promise<CoderStep> {
  const isLast = state.attempts + 1 >= loop.limits.attempts;
  if (!isEndless || !isFree(loop) || isLast)
    return { end: await endGivenUp(loop, state, { why: "unanswered", text }) };
  state.attempts++;
  tellSentBack(loop, state, "", { kind: "endless" });
  state.varied++;
  return { retry: "", isFresh: false };
}

const isFree = ({ coder }: CoderLoop) => coder.kind === "model" && coder.isFree();
const isSmall = ({ coder }: CoderLoop) => coder.kind === "model" && coder.isSmall();

function tellSentBack(
  loop: CoderLoop,
  { attempts }: LoopState,
  brief: string,
  reason?: SentBackReason,
): void {
  const why = reason === undefined ? {} : { reason };
  loop.tell({ type: "sent-back", attempt: attempts, of: loop.limits.attempts, brief, ...why });
}

/** Characters of an agent's last words that the journal keeps as its reason. */
const LONGEST_SUMMARY = 4_096;

/** An agent's turn replaces a proposal: its changes are in the draft already. */
async function workByHead(loop: CoderLoop, state: LoopState, work: WorkByHead): Promise<CoderStep> {
  const { bench, tell, limits } = loop;
  const number = state.attempts + 1;
  tell({ type: "doing", attempt: number, doing: "asking" });
  const ran = await work(number, state.exchange.at(-1)?.text ?? null);
  if (ran.kind === "refused") return { end: { kind: "refused", result: ran.result } };
  if (ran.kind === "aborted" || loop.signal.aborted) return { end: await endStopped(loop, state) };
  if (ran.kind === "unanswered") return { end: await endStoppedShort(loop, state, ran.text) };
  const { results } = ran;
  const read = takeDeclared(loop, state, ran.summary, bench.changes().length === 0);
  const summary = read.words;
  if (summary !== "")
    bench.journal?.({ type: "planned", attempt: number, plan: summary.slice(0, LONGEST_SUMMARY) });
  if (loop.planOnly) return { end: { kind: "planned", plan: summary } };
  const failed = results.filter(({ success }) => !success);
  const changed = new Set(bench.changes().map(({ path }) => path));
  if (state.contested.some((path) => !changed.has(path)))
    return { end: await endUnsettled(loop, state, summary) };
  if (changed.size === 0 && failed.length === 0 && state.red === null) return { end: endSaid(state, read) };
  state.contested = [];
  if (state.proposal !== null) state.tried.push(state.proposal.plan);
  state.proposal = toHeadProposal(summary);
  return judgeAttempt(loop, state, { number, results, failed, commands: [] }, limits.attempts);
}

const NO_COMMANDS: ParsedPatch = { ok: true, format: "empty", commands: [], warnings: [] };

/** A proposal without a patch, for changes that are in the draft already. */
function toHeadProposal(plan: string): Proposal {
  return { plan, patch: "", risk: "low", costHint: "", flags: {} };
}

/** An agent that was cut off may have left half of a change: the draft is kept as a preview and does not land. */
async function endStoppedShort(loop: CoderLoop, state: LoopState, text: WordsByLocale): Promise<CoderEnd> {
  if (loop.planOnly || loop.bench.changes().length === 0) return { kind: "unanswered", text };
  state.proposal ??= toHeadProposal("");
  state.red ??= { kind: "failing", failed: [], brief: "" };
  const execution = loop.limits.onRed === "discard" ? null : await loop.bench.keep(state.red.kind);
  return endWorked(state, execution, { why: "unanswered", text }, "");
}

/** The user's messages during the work, for the coder; empty if there are none. */
function wordSteering({ steering, tell, mask }: CoderLoop): string {
  const said = steering();
  if (said.length === 0) return "";
  tell({ type: "steered", messages: said.length });
  return `Meanwhile the user wrote:\n${mask(said.join("\n"))}`;
}

interface ReadAnswer {
  readonly loop: CoderLoop;
  readonly state: LoopState;
  readonly answer: Extract<CoderAnswer, { ok: true }>;
  readonly read: Exclude<ReturnType<typeof readProposal>, { kind: "needs-files" }>;
  /** The plan, or the whole answer if it has no sections. */
  readonly said: DeclaredWords;
  readonly words: string;
  /** The answer changes nothing: words, or an empty patch. */
  readonly isEmpty: boolean;
}

/** Null: the step does not apply, and the next one reads the answer. */
type AnswerStep = (given: ReadAnswer) => Promise<CoderStep | null> | CoderStep | null;

/** Classifies an answer: the first step that recognises it decides. */
const ANSWER_STEPS: readonly AnswerStep[] = [
  endPlanned,
  endUnsettledAnswer,
  attemptReturned,
  returnSkipped,
  judgeAnswerToRed,
  commitFinished,
  attemptUnchanged,
  doubtUnexplained,
  doubtExamples,
  ({ state, read, said }) => (read.kind === "none" ? { end: endSaid(state, said) } : null),
  ({ loop, state, answer, read, words }) =>
    read.kind === "proposal" && read.parsed.ok
      ? attemptProposal(loop, state, answer, { ...read.proposal, plan: words }, read.parsed)
      : null,
];

async function takeAnswer(
  loop: CoderLoop,
  state: LoopState,
  answer: Extract<CoderAnswer, { ok: true }>,
): Promise<CoderStep> {
  const read = completeProposal(state, readProposal(withFence(loop, answer), answer.asked));
  if (read.kind === "needs-files") {
    state.skipped = read.blocks ?? [];
    return showMore(loop, state, { files: read.paths, searches: read.searches });
  }
  state.skipped = (read.kind === "proposal" && read.parsed.ok && read.parsed.skipped) || [];
  const unread = loop.planOnly ? null : await returnUnreadPatch(loop, state, read);
  if (unread !== null) return unread;
  const isProposal = read.kind === "proposal";
  const isEmpty =
    !isProposal ||
    (read.parsed.ok && read.parsed.commands.length === 0 && read.proposal.scratch === undefined);
  const said = takeDeclared(loop, state, isProposal ? read.proposal.plan : read.text, isEmpty);
  const { words } = said;
  for (const step of ANSWER_STEPS) {
    const taken = await step({ loop, state, answer, read, said, words, isEmpty });
    if (taken !== null) return taken;
  }
  throw new Error("an answer that no step takes");
}

/** A text without a fence is the new file that was asked for, and nothing else, if it is source in that file's language. */
function withFence({ coder, bench }: CoderLoop, { text, asked = [] }: Extract<CoderAnswer, { ok: true }>) {
  const [path, ...others] = asked;
  if (coder.kind !== "model" || path === undefined || others.length > 0 || /```|~~~|<file /.test(text))
    return text;
  const isNew = bench.files().read(path, 1) === null;
  const source = text.trim();
  return isNew && isBareSource(path, source, coder.parses) ? `\`\`\`text:${path}\n${source}\n\`\`\`` : text;
}

type UnreadProposal = Extract<ReadProposal, { kind: "proposal" }>;

/** A proposal whose earlier patch had unreadable blocks: what is sent now takes their places. */
function completeProposal(state: LoopState, read: ReadProposal): ReadProposal {
  const { unread } = state;
  if (unread === null || read.kind === "needs-files") return read;
  state.unread = null;
  if (read.kind === "none" || unread.parsed.ok) return read;
  const { parsed } = read;
  const sent = parsed.ok ? parsed.commands : parsed.failure.items;
  if (sent === undefined) return read;
  const items = completeItems(unread.parsed.failure.items ?? [], sent);
  const commands = items.filter((item): item is PatchCommand => !("unread" in item));
  const plans = [unread.proposal.plan, read.proposal.plan].filter((plan) => plan.trim() !== "");
  const proposal = {
    ...unread.proposal,
    ...read.proposal,
    plan: [...new Set(plans)].join("\n"),
    patch: `${unread.proposal.patch}\n${read.proposal.patch}`,
  };
  const whole: ParseResult = parsed.ok
    ? { ...parsed, commands }
    : { ok: false, failure: { ...parsed.failure, items } };
  return { kind: "proposal", proposal, parsed: whole };
}

type DeclaredWords = ReturnType<typeof takeDeclared>;

/** `reasons`: why nothing has to change. `words`: the rest and the reasons. `declares`: the words declare something about red tests. */
function takeDeclared(loop: CoderLoop, state: LoopState, said: string, isEmpty: boolean) {
  const { bench, planOnly } = loop;
  const whole = bench.declare?.(said) ?? said;
  const { reasons, others: rest } = readNoChange(whole);
  // Beside a change, a reason without its label would read like a description of the change.
  const isBare = reasons.length > 0 && (isEmpty || planOnly) && !isGreen(state);
  const words = isBare ? [rest, ...reasons].filter((text) => text !== "").join("\n") : whole.trim();
  return { rest, reasons, words, declares: whole !== said };
}

function endPlanned({ loop, answer, words }: ReadAnswer): CoderStep | null {
  return loop.planOnly ? { end: { kind: "planned", plan: words || answer.text.trim() } } : null;
}

/** Declarations in such an answer do not count: the coder sends the whole of it again. */
async function returnUnreadPatch(loop: CoderLoop, state: LoopState, read: ReadAnswer["read"]) {
  if (read.kind === "none")
    return looksLikePatch(read.text)
      ? sendBack(loop, state, {
          report: "No patch could be read in your answer.",
          commands: [],
          reason: { kind: "unread" },
        })
      : null;
  if (read.parsed.ok) return null;
  const { failure } = read.parsed;
  const { message, line, items = [] } = failure;
  const reason = { kind: "unparsed", failure } as const;
  if (items.some((item) => !("unread" in item))) {
    state.unread = read;
    return sendBack(loop, state, { report: wordUnread(items), commands: [], reason, instead: RESEND_UNREAD });
  }
  const [only] = items;
  const where =
    line === undefined || message.endsWith(`line ${line})`) ? message : `${message} (line ${line})`;
  const report = `The patch could not be parsed: ${only === undefined ? `${where} of the patch` : wordUnread(items)}`;
  return sendBack(loop, state, { report, commands: [], reason });
}

async function endUnsettledAnswer({ loop, state, words, isEmpty }: ReadAnswer): Promise<CoderStep | null> {
  if (!isEmpty || state.contested.length === 0) return null;
  return { end: await endUnsettled(loop, state, words) };
}

/** Sub-agents made the change: the words are its plan. */
function attemptReturned({ loop, state, answer, read, words, isEmpty }: ReadAnswer) {
  if (!isEmpty || loop.bench.hasReturned?.() !== true) return null;
  const proposal = read.kind === "proposal" ? read.proposal : toHeadProposal("");
  return attemptProposal(loop, state, answer, { ...proposal, plan: words }, NO_COMMANDS);
}

/** An answer without a command whose patch is not empty: the coder believes that it wrote a change. */
function returnSkipped({ loop, state, isEmpty }: ReadAnswer): Promise<CoderStep> | null {
  const parts = findUnreturned(state);
  if (!isEmpty || parts.length === 0) return null;
  const report = wordUnreturned(loop, state);
  return sendBack(loop, state, { report, commands: [], reason: { kind: "skipped", parts } });
}

function findUnreturned({ skipped, returned }: LoopState): readonly SkippedPart[] {
  return skipped.filter(({ text }) => !returned.has(text));
}

/** The skipped parts that the coder has not read about yet, each once; empty without any. */
function wordUnreturned({ mask }: CoderLoop, state: LoopState): string {
  const parts = findUnreturned(state);
  for (const { text } of parts) state.returned.add(text);
  return parts.length === 0 ? "" : mask(wordSkipped(parts));
}

/** Lands a finished draft if the coder adds only words. */
async function commitFinished({ loop, state, words, isEmpty }: ReadAnswer): Promise<CoderStep | null> {
  if (!isGreen(state) || !isEmpty) return null;
  state.answers.push(words);
  return commitBench(loop, state, state.attempts, []);
}

/** Where its request names red tests as the goal, a small model's answer without a change is a try like any other: the tests are red. */
async function attemptUnchanged({
  loop,
  state,
  answer,
  said,
  words,
  isEmpty,
}: ReadAnswer): Promise<CoderStep | null> {
  const { bench } = loop;
  if (!isEmpty || answer.goal == null || !isSmall(loop) || loop.preview) return null;
  const [number, proposal] = [state.attempts + 1, toHeadProposal(words)];
  const carried = await bench.carryOut({ number, proposal, parsed: NO_COMMANDS, commands: [] });
  if (carried.kind !== "ran") return null;
  state.goal = answer.goal;
  declareGoal(loop, state);
  const judged = await bench.judge(number);
  if (loop.signal.aborted) return { end: await endStopped(loop, state) };
  const red = findRedAttempt([], judged);
  if (judged === null || red === null)
    return said.reasons.length > 0
      ? null
      : sendBack(loop, state, { report: wordsFor(loop).noFile, commands: [], reason: { kind: "unread" } });
  Object.assign(state, { proposal, red });
  return sendBack(loop, state, { report: judged.report, commands: [] });
}

/** Without a change nothing connects the named tests with the draft. */
function declareGoal({ bench }: CoderLoop, { goal }: LoopState): void {
  bench.declare?.((goal?.tests ?? []).map((path) => `Fixes: ${path}`).join("\n"));
}

/** Sends back, once, an answer that changes nothing without a reason: models forget the patch and believe that they wrote it. */
function doubtUnexplained({ loop, state, read, said, words, isEmpty }: ReadAnswer): CoderStep | null {
  const isBrowsing = read.kind === "proposal" && hasFlag(read.proposal, "uses_browser");
  // A preview needs no change, and browser work needs no patch.
  if (!isEmpty || isBrowsing || loop.preview) return null;
  // An empty patch that is sent again is meant, and an empty patch is a success.
  if (state.doubted !== null)
    return { end: endSaid(state, said, read.kind === "proposal" && state.skipped.length === 0) };
  if (said.reasons.length > 0) return null;
  state.doubted = words;
  return { back: WITHOUT_CHANGE };
}

const WITHOUT_CHANGE =
  "Your answer contains no patch, so nothing was changed. If something must change, send the whole proposal, including ## Patch. If nothing has to change, or if your answer is a reply or a question to the user, send only the line `No change: reason`: the user is shown your answer above. Other words beside that line replace the answer above.";

/** In a first answer without `## Patch`, blocks under path lines may be examples: the coder is asked once, and means them if it sends them again. */
function doubtExamples({ loop, state, answer, read }: ReadAnswer): CoderStep | null {
  const isFirst = state.doubted === null && state.proposal === null && state.attempts === 0;
  if (loop.coder.kind === "head" || !isFirst || read.kind !== "proposal" || read.isBare !== true) return null;
  // A small model that is asked to change a file, and writes that file, means it.
  const isAsked = (path: string) => answer.asked?.includes(path.replace(/^\.\//, "")) === true;
  if (!read.parsed.ok) return null;
  if (read.parsed.commands.every(({ metadata, target }) => metadata?.named === undefined || isAsked(target)))
    return null;
  state.doubted = answer.text.trim();
  return { back: WITHOUT_PATCH };
}

const WITHOUT_PATCH =
  "Your answer has no section ## Patch, so nothing of it was run: its blocks may be examples. If they are the change, send the whole proposal again, including ## Patch. If your answer is a reply or a question to the user, send only the line `No change: reason`: the user is shown your answer above.";

/** Shows the doubted words unless later words replace them: a reason alone does not answer the user. */
function endSaid(
  { doubted, skipped }: LoopState,
  { rest, reasons }: DeclaredWords,
  isMeant = false,
): CoderEnd {
  const isReplaced = doubted === null || rest.includes(doubted) || (reasons.length > 0 && rest !== "");
  const text = [isReplaced ? "" : doubted, rest].filter((words) => words !== "").join("\n\n");
  const reason = reasons.filter((one) => one !== "").join("\n");
  return {
    kind: "said",
    text: text || reason,
    ...(text !== "" && reason !== "" && { reason }),
    ...(doubted !== null && { isExplained: reasons.length > 0 || isMeant }),
    ...(skipped.length > 0 && { skipped }),
  };
}

/**
 * The coder sends no patch while the draft is red. If it declares something about red tests, the draft is judged again with that. An empty
 * patch after failed edits means that the change is complete without them: the checks judge it, and green lands.
 */
async function judgeAnswerToRed({
  loop,
  state,
  read,
  said,
  words,
  isEmpty,
}: ReadAnswer): Promise<CoderStep | null> {
  const { bench, tell, chosen } = loop;
  const { red } = state;
  if (!isEmpty || red === null) return null;
  const isOfEdits = red.failed.some(({ command }) => command.type === "file_edit");
  const isRest = read.kind === "proposal" && red.kind === "failing" && isOfEdits && chosen === undefined;
  const check = read.kind === "proposal" ? read.proposal.check : undefined;
  if (check !== undefined) bench.propose?.(check);
  const declares = (said.declares || check !== undefined) && red.kind !== "failing";
  if (declares || (isRest && bench.changes().length > 0)) {
    tell({ type: "doing", attempt: state.attempts, doing: "checking" });
    const judged = await bench.judge(state.attempts);
    if (loop.signal.aborted) return { end: await endStopped(loop, state) };
    state.red = findRedAttempt([], judged) ?? (judged?.verdict === "unknown" && isRest ? red : null);
    if (judged !== null && state.red !== null && state.red !== red) {
      const head = declares
        ? "The draft was judged with what you declared or proposed; nothing has landed yet."
        : "Without the edits that failed, the rest was judged; nothing has landed yet.";
      return sendBack(loop, state, { head, report: judged.report, commands: [] });
    }
    if (state.red === null) {
      state.answers.push(words);
      return commitBench(loop, state, state.attempts, []);
    }
  }
  if (isSmall(loop) && red.lands !== true)
    return sendBack(loop, state, { report: wordsFor(loop).noFile, commands: [] });
  return { end: await endGivenUp(loop, state, { why: "gave-up" }, words) };
}

/** Shows the content that the coder asks for. When the rounds are used up, the coder is informed once. */
async function showMore(loop: CoderLoop, state: LoopState, asked: AskedContext): Promise<CoderStep> {
  const { explore } = loop.limits;
  state.explored++;
  if (state.explored > explore + 1) {
    if (isGreen(state)) return commitBench(loop, state, state.attempts, []);
    return { end: { kind: "unusable", why: `coder.explore: ${explore}` } };
  }
  const all = [...asked.files, ...asked.searches];
  const isNew = all.some((one) => !state.asked.has(one));
  for (const one of all) state.asked.add(one);
  if (!isNew || state.explored > explore)
    return {
      back: paragraphs([
        "There is nothing more to look up. Write the proposal now.",
        wordUnreturned(loop, state),
      ]),
    };
  if (asked.files.length > 0) loop.tell({ type: "asks", how: "read", wanted: asked.files });
  if (asked.searches.length > 0) loop.tell({ type: "asks", how: "search", wanted: asked.searches });
  const left = explore - state.explored;
  const rounds = left === 1 ? "1 such round is" : `${left} such rounds are`;
  const shown = loop.mask(loop.show(loop.bench.files(), asked));
  return { back: paragraphs([shown, `(${rounds} left)`, wordUnreturned(loop, state)]) };
}

async function attemptProposal(
  loop: CoderLoop,
  state: LoopState,
  answer: Extract<CoderAnswer, { ok: true }>,
  written: Proposal,
  whole: ParsedPatch,
): Promise<CoderStep> {
  const { bench, limits, tell } = loop;
  const { shown } = answer;
  const parsed = withoutGoalTests(loop, state, answer, whole);
  if (parsed === null) {
    const reason = { kind: "skipped", parts: state.skipped } as const;
    return sendBack(loop, state, { report: "Nothing else is in your answer.", commands: [], reason });
  }
  const { commands } = parsed;
  if (state.startsOver) await bench.startOver?.();
  state.startsOver = false;
  state.mayStartOver &&= commands.every(({ type }) => type === "file_edit");
  const scratch = written.scratch === undefined ? null : await readScratch(loop, written.scratch.paths);
  if (scratch !== null && "refused" in scratch)
    return sendBack(loop, state, {
      report: `Your patch is the scratch view: ${scratch.refused}.`,
      commands: [],
      reason: { kind: "unread" },
    });
  // Two patches of the scratch view differ by what they change.
  const proposal = scratch === null ? written : { ...written, patch: `${written.patch}\n${scratch.diff}` };
  if (scratch !== null) state.skipped = [...state.skipped, ...scratch.skipped];
  const doubts = loop.advise("doubtful edits", [], () =>
    doubtfulEdits(commands, bench.files().source, {
      shown,
      told: (path) => state.told.has(path),
      isSmall: isSmall(loop),
      ...(loop.coder.kind === "model" && { notWhole: notWholeFor(loop.coder, proposal) }),
    }),
  );
  if (doubts.length > 0) {
    for (const { path } of doubts) state.told.add(path);
    const named = new Set(doubts.map(({ path }) => path));
    const doubted = commands.filter(({ target, edit }) =>
      edit === undefined ? named.has(target.replace(/^\.\//, "")) : "path" in edit && named.has(edit.path),
    );
    const reason = { kind: "doubts", doubts } as const;
    return sendBack(loop, state, { report: wordDoubts(doubts), commands: doubted, reason });
  }
  state.contested = [];
  const settled = await bench.settle(commands);
  const isContested = settled.stale.length > 0 && state.conflicts >= CONFLICT_ROUNDS;
  if (settled.stale.length > 0 && !isContested) return sendConflictBack(loop, state, settled.stale);
  const number = state.attempts + 1;
  const all = [...(scratch?.commands ?? []), ...commands];
  tell({ type: "proposed", attempt: number, proposal, commands: all });
  if (state.proposal !== null) state.tried.push(state.proposal.plan);
  state.proposal = proposal;
  tell({ type: "doing", attempt: number, doing: "running" });
  const { merged } = settled;
  const carried = await bench.carryOut({
    ...{ number, proposal, scratch, merged },
    parsed: scratch === null && parsed === whole ? parsed : { ...parsed, skipped: state.skipped },
    commands: settled.commands,
  });
  if (carried.kind === "refused") return { end: { kind: "refused", result: carried.result } };
  if (carried.kind === "aborted" || loop.signal.aborted) return { end: await endStopped(loop, state) };
  const { stale } = carried;
  if (stale.length > 0 && !isContested && state.conflicts < CONFLICT_ROUNDS) {
    await bench.giveWay(stale.map(({ path }) => path));
    return sendConflictBack(loop, state, stale);
  }
  if (isContested || stale.length > 0) {
    const contested = [...settled.stale, ...stale];
    const brief = contested.map(({ path }) => path).join(", ");
    state.red = { kind: "conflict", failed: [], brief };
    state.attempts = number;
    return { end: await endContested(loop, state, contested) };
  }
  const { results } = carried;
  const failed = results.filter(({ success }) => !success);
  return judgeAttempt(loop, state, { number, results, failed, commands: all }, limits.attempts);
}

/** The patch but for changes of tests that its request names as right, which are skipped; null if nothing else is left. */
function withoutGoalTests(
  { bench }: CoderLoop,
  state: LoopState,
  { goal = null, text }: Extract<CoderAnswer, { ok: true }>,
  parsed: ParsedPatch,
): ParsedPatch | null {
  state.goal = goal;
  if (goal === null) return parsed;
  const { source } = bench.files();
  const altered = (command: PatchCommand) => alteredFiles(command, goal.tests, source);
  const kept = parsed.commands.filter((command) => altered(command).length === 0);
  if (kept.length === parsed.commands.length) return parsed;
  const why = "the request names these tests as its goal; they stay as they are";
  const paths = new Set(parsed.commands.flatMap(altered));
  for (const path of paths) {
    const line = text.slice(0, Math.max(0, text.indexOf(path))).split("\n").length;
    state.skipped = [...state.skipped, { line, text: path, why }];
    // The report says so itself.
    state.returned.add(path);
  }
  return kept.length === 0 ? null : { ...parsed, commands: kept };
}

async function readScratch({ bench }: CoderLoop, paths: readonly string[] | null) {
  const read = (await bench.readScratch?.(paths)) ?? { refused: "there is none here; write the change" };
  if ("refused" in read || read.edits.length > 0) return read;
  const why = read.skipped.map((part) => `${part.text}: ${part.why}`).join("; ");
  return { refused: why || "nothing of it differs from your draft, and each proposal begins a new view" };
}

function notWholeFor({ request, parses }: ModelCoder, { plan }: Proposal) {
  const spoken = `${request}\n${plan}`;
  return (path: string, before: string, after: string, isGuess: boolean) =>
    findNotWhole({ path, before, after, isGuess }, spoken, parses);
}

interface CarriedAttempt {
  readonly number: number;
  readonly results: readonly CommandResult[];
  readonly failed: readonly CommandResult[];
  readonly commands: readonly PatchCommand[];
}

/** Runs the checks over an attempt: green lands, red is sent back. */
async function judgeAttempt(
  loop: CoderLoop,
  state: LoopState,
  { number, results, failed, commands }: CarriedAttempt,
  of: number,
): Promise<CoderStep> {
  const { bench, tell } = loop;
  if (isSmall(loop) && bench.changes().length === 0) declareGoal(loop, state);
  if (failed.length === 0) tell({ type: "doing", attempt: number, doing: "checking" });
  const judged = failed.length === 0 ? await bench.judge(number) : null;
  if (loop.signal.aborted) return { end: await endStopped(loop, state) };
  state.red = findRedAttempt(failed, judged);
  if (state.red === null) return commitBench(loop, state, number, commands);
  if (judged !== null) await rememberBest(loop, state, number, judged);
  const report = judged === null ? wordFailures(failed) : judged.report;
  const head = [
    `Attempt ${number} of ${of} ran in a draft; nothing has landed yet.`,
    ...(judged === null ? [wordStatuses(results)] : []),
  ];
  return sendBack(loop, state, {
    head: head.filter((part) => part !== "").join("\n"),
    report,
    commands,
    failed: judged === null ? failed : [],
    ran: true,
    ...(judged?.facts.notChecked != null && { instead: "" }),
  });
}

/** How often a conflict is sent back to the coder. */
const CONFLICT_ROUNDS = 2;

/** The draft keeps only what could be merged; the coder sees who changed which lines, and answers again. */
function sendConflictBack(loop: CoderLoop, state: LoopState, stale: readonly StaleEdit[]): CoderStep {
  const { limits, bench, tell, mask } = loop;
  state.mayStartOver = false;
  state.conflicts++;
  state.contested = stale.map(({ path }) => path);
  const paths = stale.map(({ path, other }) => other.movedTo ?? path);
  tell({
    type: "contested",
    paths,
    jobs: stale.flatMap(({ other }) => (other.job === null ? [] : [nameJob(other.job)])),
  });
  const places = [...new Set(paths)].map((path) => ({ path, lines: [] }));
  const files = showAgain(bench.files(), places, limits.shownChars);
  const back = [
    mask(wordStaleEdits(stale, limits.shownChars)),
    loop.coder.kind === "head"
      ? "These files now include the other changes. Make your change again in the current versions."
      : files === ""
        ? ""
        : `As they are now:\n${mask(files)}`,
  ];
  return { back: paragraphs(back) };
}

interface SentBack {
  readonly head?: string;
  readonly report: string;
  /** The coder sees the files of these commands again. */
  readonly commands: readonly PatchCommand[];
  /** Why nothing of the answer was carried out. */
  readonly reason?: SentBackReason;
  /** If only edits failed, the coder sees only the lines that they were meant for. */
  readonly failed?: readonly CommandResult[];
  /** The request to the coder, if it is not to send or correct all of it. */
  readonly instead?: string;
  /** The commands ran, so the coder sees only the changed and reported lines. */
  readonly ran?: boolean;
}

const RESEND_UNREAD =
  "The other blocks are kept and run with them. Send only these blocks again, corrected, in this order; an empty patch leaves them out.";

const FIX_THE_REST =
  "What succeeded stays in the draft. Answer with a proposal that fixes the rest: only what still has to change, against the files as they are now.";

/** The first failure of a report, with the lines of the named test where the report does not quote them. */
function wordFirstFailure(loop: CoderLoop, { goal }: LoopState, report: string): string {
  const { bench, limits } = loop;
  const failure = firstFailure(report, 2_000);
  const [place] = linesNamedIn(failure, goal?.tests ?? []).filter(({ lines }) => lines.length > 0);
  const text = place === undefined ? undefined : bench.files().read(place.path, limits.shownChars)?.text;
  const at = (place?.lines[0] ?? 1) - 1;
  const lines = text?.split("\n") ?? [];
  const line = lines[at]?.trim() ?? "";
  if (place === undefined || line === "" || failure.includes(line)) return failure;
  const around = lines.slice(Math.max(0, at - 3), at + 3).join("\n");
  return paragraphs([failure, `${wordsFor(loop).failingLine(place.path, at + 1)}\n${around}`]);
}

const wordsFor = ({ coder }: CoderLoop) =>
  SMALL_WORDS[coder.kind === "model" ? languageOf(coder.request) : "en"];

const wordGoal = (loop: CoderLoop, { goal }: LoopState) =>
  goal === null ? "" : wordsFor(loop).goal(goal.tests, goal.only);

const GO_ON =
  "Everything else that you changed is still there. Continue in the same folder until this is fixed, then describe in a few sentences what you did.";

async function sendBack(
  loop: CoderLoop,
  state: LoopState,
  { head, report, commands, failed = [], ran = false, reason, instead }: SentBack,
): Promise<CoderStep> {
  const { limits, bench, mask } = loop;
  state.attempts++;
  // Red checks after a different patch count as another failure.
  const mark = failureMark(`${report}${state.red?.kind === "failing" ? "" : (state.proposal?.patch ?? "")}`);
  const isSame = mark === state.mark;
  state.mark = mark;
  const edited = failed.flatMap(({ command }) => (command.type === "file_edit" ? [command.target] : []));
  for (const path of edited) state.mismatched.set(path, (state.mismatched.get(path) ?? 0) + 1);
  // When a file's edits fail for the second time, the coder sees the whole file; the same failure after that ends the loop.
  const whole = edited
    .filter((path) => state.mismatched.get(path) === 2)
    .map((path) => ({ path, lines: [] }));
  const isRepeat = isSame && whole.length === 0;
  // A doubtful draft that is sent again is meant.
  const varies = (isSmall(loop) || (isRepeat && isFree(loop))) && state.red?.lands !== true;
  const isStuck = isRepeat && !varies;
  if (isStuck || state.attempts >= limits.attempts) {
    const stopped = isStuck
      ? ({ why: "same" } as const)
      : ({ why: "attempts", limit: limits.attempts, isLocal: isSmall(loop) } as const);
    return { end: await endGivenUp(loop, state, stopped, "", reason ?? null) };
  }
  tellSentBack(loop, state, mask(state.red?.brief ?? ""), reason);
  if (varies) {
    state.varied++;
    state.startsOver = state.mayStartOver && bench.startOver !== undefined;
    if (state.startsOver) {
      state.unread = null;
      const wrong = mask(isSmall(loop) ? wordFirstFailure(loop, state, report) : report);
      return { retry: paragraphs([wordsFor(loop).tryAgain, wrong, wordGoal(loop, state)]), isFresh: true };
    }
  }
  const files =
    loop.advise(
      "lines shown again",
      null,
      () =>
        (whole.length > 0 ? showAgain(bench.files(), whole, limits.shownChars) : null) ??
        showFailedEdits(bench.files(), failed, commands, limits.shownChars) ??
        (ran ? showAfterRun(bench.files(), commands, report, limits.shownChars) : null),
    ) ?? showAgain(bench.files(), linesToShowAgain(commands, report), limits.shownChars);
  const words = paragraphs([
    head ?? "",
    mask(report),
    wordUnreturned(loop, state),
    wordGoal(loop, state),
    files === "" ? "" : `As they are now:\n${files}`,
    loop.coder.kind === "head"
      ? GO_ON
      : head === undefined
        ? `Nothing of your answer was run. ${instead ?? "Send the whole proposal again, corrected."}`
        : (instead ?? FIX_THE_REST),
  ]);
  return varies ? { retry: words, isFresh: false } : { back: words };
}

/** Lands a green draft. If the workspace changed meanwhile, the draft is judged once more first. */
async function commitBench(
  loop: CoderLoop,
  state: LoopState,
  number: number,
  commands: readonly PatchCommand[],
  { steered = true }: { readonly steered?: boolean } = {},
): Promise<CoderStep> {
  const { bench, preview } = loop;
  state.attempts = number;
  state.mayStartOver = false;
  const said = steered && number < loop.limits.attempts ? wordSteering(loop) : "";
  const unread = steered && number < loop.limits.attempts ? findUnreturned(state) : [];
  if (unread.length > 0) tellSentBack(loop, state, "", { kind: "skipped", parts: unread });
  const asked = [unread.length > 0 ? wordUnreturned(loop, state) : "", said].filter((part) => part !== "");
  if (asked.length > 0)
    return {
      back: `Nothing failed.\n\n${asked.join("\n\n")}\n\n${loop.coder.kind === "head" ? "Do what remains." : "Answer with the remaining changes, or an empty patch."}`,
    };
  const other = await endPassedOver(loop, state, number);
  if (other !== null) return { end: other };
  // A preview without changes would wait to be applied in vain.
  const words = state.proposal?.plan.trim() ?? "";
  if (preview && commands.length === 0 && words !== "" && bench.changes().length === 0)
    return { end: { kind: "said", text: words } };
  return preview ? keepBench(loop, state, commands) : landBench(loop, state, commands);
}

const MOVED_ON = "The workspace changed meanwhile.";

async function keepBench(
  loop: CoderLoop,
  state: LoopState,
  commands: readonly PatchCommand[],
): Promise<CoderStep> {
  const { bench } = loop;
  const confirmed = await bench.confirm(state.attempts);
  state.red = findRedAttempt([], confirmed);
  if (confirmed !== null && state.red !== null)
    return sendBack(loop, state, { head: MOVED_ON, report: confirmed.report, commands });
  await bench.sendOut(state.attempts);
  return { end: endWorked(state, await bench.keep(), null, "") };
}

async function landBench(
  loop: CoderLoop,
  state: LoopState,
  commands: readonly PatchCommand[],
): Promise<CoderStep> {
  const { bench, limits } = loop;
  const landed = await bench.landInTurn(state.attempts, state.conflicts < CONFLICT_ROUNDS);
  switch (landed.kind) {
    case "ended":
      return { end: endLanded(state, landed.result) };
    case "red":
      state.red = findRedAttempt([], landed.judged);
      return sendBack(loop, state, { head: MOVED_ON, report: landed.judged.report, commands });
    case "failing":
      state.red = findRedAttempt(landed.failed, null);
      return sendBack(loop, state, { head: MOVED_ON, report: wordFailures(landed.failed), commands });
    case "conflict":
      return sendConflictBack(loop, state, landed.stale);
    case "outdated": {
      state.conflicts++;
      loop.tell({ type: "contested", paths: landed.paths, jobs: [] });
      const places = landed.paths.map((path) => ({ path, lines: [] }));
      const files = loop.mask(showAgain(bench.files(), places, limits.shownChars));
      return {
        back: `Your change is in a draft; nothing has landed yet. Files that you were shown have changed since:\n${files}\n\nIf your change still fits, answer with an empty patch; otherwise answer with the remaining changes.`,
      };
    }
  }
}

/** If other jobs keep winning the landing turn, the draft is kept as a preview and the job fails. */
function endLanded(state: LoopState, result: JobResult): CoderEnd {
  if (result.about === "job" && result.outcome === "staged" && findHookRed(result) === null)
    state.red = {
      kind: "conflict",
      failed: [],
      brief: result.changes.map(({ path }) => path).join(", "),
    };
  return endWorked(state, result, state.red === null ? null : { why: "conflict" }, "");
}
