import { failingOutput } from "../../domain/checks/read-results.ts";
import { affectedFiles, type Doubt, doubtfulEdits, meantLines } from "../../domain/coder/check-edits.ts";
import { showAround, showFile, splitBudget } from "../../domain/coder/file-excerpts.ts";
import { looksLikePatch, type Proposal, readProposal } from "../../domain/coder/proposal.ts";
import type { RedReason as WhyRed } from "../../domain/jobs/job-status.ts";
import { type CommandResult, oneLine } from "../../domain/jobs/result.ts";
import { parsePatch } from "../../domain/patch/parse-patch.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import type { Worded } from "../../domain/texts/worded.ts";
import type { JudgedAttempt } from "../checks/project-checks.ts";
import type { Execution } from "../jobs/execution.ts";
import type { ProjectFiles } from "../ports/coder.ts";
import type { ModelMessage } from "../ports/models.ts";
import type { Bench } from "./bench.ts";
import type { AskedContext } from "./explorer.ts";
import { type StaleEdit, wordStaleEdits } from "./shown-files.ts";

/** How a coder's work on one message ended. */
export type CoderEnd =
  /** Words instead of a patch: an answer, or a question. */
  | { readonly kind: "said"; readonly text: string }
  | { readonly kind: "planned"; readonly plan: string }
  /** The model gave no answer before anything was carried out; `text` is for the user. */
  | { readonly kind: "unanswered"; readonly text: Worded }
  /** No proposal could be carried out; `why` is for the user. */
  | { readonly kind: "unusable"; readonly why: string }
  | { readonly kind: "refused"; readonly execution: Execution }
  | { readonly kind: "aborted" }
  /** Another coder's draft was taken. */
  | { readonly kind: "passed-over" }
  | {
      readonly kind: "worked";
      readonly proposal: Proposal;
      /** Null where red was to be thrown away. */
      readonly execution: Execution | null;
      readonly story: CoderStory;
    };

/** The possible end of a coder. */
export interface CoderEnding {
  readonly proposal: Proposal;
  readonly red: RedAttempt | null;
  readonly attempts: number;
}

/** The reply's facts about the route to a result; plain JSON. */
interface CoderStory {
  readonly attempts: number;
  /** The remaining errors; null when it is green. */
  readonly red: RedAttempt | null;
  /** Why the coder did not go on; null when it is green. */
  readonly stopped: CoderStopReason | null;
  /** The plans of attempts that a later one replaced. */
  readonly tried: readonly string[];
  /** The coder's last words, where it had no patch any more. */
  readonly words: string;
}

interface RedAttempt {
  readonly kind: WhyRed;
  readonly failed: readonly CommandResult[];
  readonly brief: string;
  /** The coder was only to look at it once more: it lands if nothing better comes. */
  readonly lands?: boolean;
}

export type CoderStopReason =
  | { readonly why: "attempts"; readonly limit: number }
  /** The same failure came twice. */
  | { readonly why: "same" }
  /** The coder had nothing more to propose. */
  | { readonly why: "gave-up" }
  /** Others changed the same lines, and the coder did not bring the two together. */
  | { readonly why: "conflict" }
  /** No further answer came; `text` is for the user. */
  | { readonly why: "unanswered"; readonly text: Worded };

export interface CoderLoop {
  /** Asks the coder, with what was said after the request. */
  readonly ask: (exchange: readonly ModelMessage[]) => Promise<CoderAnswer>;
  readonly bench: Bench;
  /** The content that it asks to see before it writes. */
  readonly show: (files: ProjectFiles, asked: AskedContext) => string;
  readonly limits: {
    readonly attempts: number;
    /** Rounds in which it may ask for files. */
    readonly explore: number;
    readonly onRed: "preview" | "apply" | "discard";
    /** Characters of files that go back with a report. */
    readonly shownChars: number;
  };
  /** It is asked for a plan alone; nothing is carried out. */
  readonly planOnly: boolean;
  /** Keeps what is green as a preview too. */
  readonly preview: boolean;
  /** The user's messages since the last call. */
  readonly steering: () => readonly string[];
  /** Where several coders work on a message: whether this one's draft is taken. Asked, once, when it would end. */
  readonly chosen?: (ending: CoderEnding) => Promise<boolean>;
  readonly signal: AbortSignal;
  readonly tell: (event: CoderEvent) => void;
  readonly mask: (text: string) => string;
}

export type CoderAnswer =
  | {
      readonly ok: true;
      readonly text: string;
      /** Whether it was shown that file whole. */
      readonly shown: (path: string) => boolean;
    }
  /** `text` is for the user. */
  | { readonly ok: false; readonly text: Worded };

/** The events that an observer receives. */
export type CoderEvent =
  /** Paths and searches. */
  | { readonly type: "asks"; readonly wanted: readonly string[] }
  | {
      readonly type: "proposed";
      readonly attempt: number;
      readonly proposal: Proposal;
      readonly commands: readonly PatchCommand[];
    }
  | { readonly type: "doing"; readonly attempt: number; readonly doing: "asking" | "running" | "checking" }
  /** It goes back: what is wrong, in few words. */
  | { readonly type: "sent-back"; readonly attempt: number; readonly of: number; readonly brief: string }
  /** Others changed the same lines of these files meanwhile; `jobs` are theirs, where jobs did it. */
  | { readonly type: "contested"; readonly paths: readonly string[]; readonly jobs: readonly string[] }
  | { readonly type: "steered"; readonly messages: number };

/** How far a loop is. */
interface LoopState {
  readonly exchange: ModelMessage[];
  attempts: number;
  explored: number;
  proposal: Proposal | null;
  red: RedAttempt | null;
  /** The last reply to the coder, so that the same is not sent twice. */
  mark: string;
  readonly tried: string[];
  readonly asked: Set<string>;
  /** Files that it was warned about. */
  readonly told: Set<string>;
  /** Rounds in which it was told that others changed the same lines; they are no attempts. */
  conflicts: number;
  /** Files whose conflict was sent back and is not answered yet: without them the draft is half of the change. */
  contested: readonly string[];
  /** Its answers to the user beside its proposals. */
  readonly answers: string[];
}

/** Nothing is red, and a proposal stands in the draft. */
function isGreen({ red, proposal }: LoopState): boolean {
  return red === null && proposal !== null;
}

/** The user gave up: a draft that is ended then takes everything back, and its job says so. */
async function endStopped({ bench }: CoderLoop, state: LoopState): Promise<CoderEnd> {
  if (state.proposal === null) return { kind: "aborted" };
  return endWorked({ ...state, red: null }, await bench.land(), null, "");
}

/** The end of a coder whose draft is not taken; null where it is, or where it works alone. */
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

/** Green is out of reach: the draft becomes what `onRed` says, where there is one. */
async function endGivenUp(
  loop: CoderLoop,
  state: LoopState,
  stopped: CoderStopReason,
  words = "",
  report = "",
): Promise<CoderEnd> {
  const { bench, limits } = loop;
  const { red } = state;
  // An error in a later answer is not a fault of the draft.
  if (state.contested.length > 0) return endUnsettled(loop, state, words);
  if (isGreen(state)) {
    if (words !== "") state.answers.push(words);
    const step = await commitBench(loop, state, state.attempts, [], { steered: false });
    if ("end" in step) return step.end;
    if (state.red !== null) return endGivenUp(loop, state, stopped, "", report);
    state.red = { kind: "conflict", failed: [], brief: step.back.split("\n")[0] ?? "" };
    return endContested(loop, state);
  }
  if (red === null) {
    if (stopped.why === "unanswered") return { kind: "unanswered", text: stopped.text };
    return { kind: "unusable", why: report || words };
  }
  const other = await endPassedOver(loop, state, state.attempts);
  if (other !== null) return other;
  if (red.lands === true && (await bench.confirm(state.attempts))?.verdict !== "red") {
    await bench.sendOut(state.attempts);
    return endWorked(
      { ...state, red: null },
      await (loop.preview ? bench.keep() : bench.land()),
      null,
      words,
    );
  }
  // There is nothing to keep; the effects of its commands are reported.
  if (red.kind === "failing" && bench.changes().length === 0)
    return endWorked(state, await bench.land(), stopped, words);
  // Its own commands fail, but edits do not: the project's checks may still say that nothing is worse.
  if (red.kind === "failing" && red.failed.every(({ command }) => command.type !== "file_edit")) {
    const judged = await bench.judge(state.attempts);
    if (judged?.verdict === "green") {
      const landed = await bench.landInTurn(state.attempts, false);
      if (landed.kind === "ended") return endWorked(state, landed.execution, stopped, words);
    }
  }
  switch (limits.onRed) {
    case "apply":
      return endWorked(state, await bench.land(), stopped, words);
    case "preview":
      return endWorked(state, await bench.keep(red.kind), stopped, words);
    case "discard":
      return endWorked(state, null, stopped, words);
  }
}

/** Others changed the same lines and nobody brought the two together: whatever `onRed` says, it must not land over them. */
async function endContested({ bench, limits }: CoderLoop, state: LoopState): Promise<CoderEnd> {
  const execution = limits.onRed === "discard" ? null : await bench.keep("conflict");
  return endWorked(state, execution, { why: "conflict" }, "");
}

/** The coder answered a conflict without an edit: the rest alone is not the change, so nothing of it lands. */
async function endUnsettled(loop: CoderLoop, state: LoopState, words: string): Promise<CoderEnd> {
  // Without a rest the words are all of it.
  if (words !== "" && loop.bench.changes().length === 0) return { kind: "said", text: words };
  if (words !== "") state.answers.push(words);
  state.red = { kind: "conflict", failed: [], brief: state.contested.join(", ") };
  return endContested(loop, state);
}

function endWorked(
  { proposal, attempts, red, tried, answers }: LoopState,
  execution: Extract<CoderEnd, { kind: "worked" }>["execution"],
  stopped: CoderStopReason | null,
  words: string,
): CoderEnd {
  if (proposal === null) throw new Error("a coder's work ended without a proposal");
  const said = [...answers, words].filter((text) => text !== "").join("\n\n");
  return { kind: "worked", proposal, execution, story: { attempts, red, stopped, tried, words: said } };
}

/** The error of an attempt: its own commands, or the results of the checks; null if there is none. */
function findRedAttempt(failed: readonly CommandResult[], judged: JudgedAttempt | null): RedAttempt | null {
  if (failed.length > 0) return { kind: "failing", failed, brief: firstFailureLine(failed) };
  if (judged?.verdict !== "red") return null;
  return { kind: redReasonOf(judged.facts), failed: [], brief: judged.brief, lands: judged.landsAnyway };
}

function redReasonOf({ verdict, unended }: JudgedAttempt["facts"]): WhyRed {
  if (unended !== undefined) return "unended";
  return verdict === "still-red" ? "still-red" : "worse";
}

function firstFailureLine(failed: readonly CommandResult[]): string {
  const [first] = failed;
  if (first === undefined) return "";
  const { command, error } = first;
  const what = command.target.split("\n")[0] ?? "";
  const why = error.split("\n")[0]?.replace(/ \(output: .*$/, "") ?? "";
  return why.startsWith(`${what}: `) ? why : `${what}: ${why}`;
}

/** A file that a coder needs to see again, and the lines that matter in it. */
interface FileLines {
  readonly path: string;
  readonly lines: readonly number[];
}

const LONGEST = 2_000_000;

/** Files as they stand by now. Of what does not fit, the lines that matter. */
function showAgain(files: ProjectFiles, places: readonly FileLines[], limit: number): string {
  const found = places.flatMap(({ path, lines }) => {
    const file = files.read(path, LONGEST);
    return file === null ? [] : [{ path, lines, text: file.text }];
  });
  const shares = splitBudget(
    found.map(({ text }) => text.length),
    limit,
  );
  return found
    .map(({ path, lines, text }, at) =>
      showFile(path, text, { terms: [], limit: shares[at] ?? 0, focus: lines }),
    )
    .join("\n\n");
}

/** Characters of one command's output that go back. */
const OUTPUT = 6_000;

/** The failures, for the coder: each command with its exit code, and the head and tail of its output. */
function wordFailures(failed: readonly CommandResult[]): string {
  return failed.map(wordFailure).join("\n\n");
}

function wordFailure({ command, error, output, process }: CommandResult): string {
  const { type, action, target } = command;
  const what = type === "shell_command" ? oneLine(target) : `${type} ${action} ${oneLine(target)}`;
  // The report of an edit that did not match begins with what its error says.
  if (isUnmatchedEdit(command, output)) return `FAILED ${what}:\n${output}`;
  if (type !== "shell_command") return `FAILED ${what}: ${[error, output].filter(Boolean).join("\n")}`;
  const code = process?.exitCode;
  const how = code === null || code === undefined ? error.split("\n")[0] : `exit code ${code}`;
  const printed = process === undefined ? output : `${process.stdout}${process.stderr}`;
  return `FAILED ${what}: ${how}\n<output>\n${failingOutput(printed.trimEnd(), OUTPUT)}\n</output>`;
}

/** An edit that failed with a report on its hunks. */
function isUnmatchedEdit({ type }: PatchCommand, output: string): boolean {
  return type === "file_edit" && output.includes("Nothing of this edit was written.");
}

const MOST_LISTED = 40;

/** How each command of an attempt ended, in order: a coder sends again only what failed. */
function wordStatuses(results: readonly CommandResult[]): string {
  if (results.length < 2) return "";
  const lines = results.slice(0, MOST_LISTED).map(({ command, success }, at) => {
    const { type, action, target } = command;
    const what = type === "file_edit" ? `${action} ${oneLine(target)}` : oneLine(target).slice(0, 80);
    return `${at + 1}. ${success ? "done" : "FAILED"}: ${what}`;
  });
  if (results.length > MOST_LISTED) lines.push(`… and ${results.length - MOST_LISTED} more`);
  return lines.join("\n");
}

/** Of the files whose edits failed, the lines that were meant; null where something else than edits failed. */
function showFailedEdits(
  files: ProjectFiles,
  failed: readonly CommandResult[],
  commands: readonly PatchCommand[],
  limit: number,
): string | null {
  if (failed.length === 0 || !failed.every(({ command, output }) => isUnmatchedEdit(command, output)))
    return null;
  const places = new Map<string, { readonly text: string; readonly lines: number[] }>();
  for (const { command, output } of failed) {
    // A result names its command without the edit itself.
    const sent = commands.filter(({ edit, target }) => edit !== undefined && target === command.target);
    for (const path of affectedFiles(sent.length > 0 ? sent : [command])) {
      const text = places.get(path)?.text ?? files.read(path, LONGEST)?.text;
      if (text === undefined) continue;
      const place = places.get(path) ?? { text, lines: [] };
      place.lines.push(...meantLines(sent, path, text, output));
      places.set(path, place);
    }
  }
  const shares = splitBudget(
    [...places.values()].map(({ text }) => text.length),
    limit,
  );
  return [...places]
    .map(([path, { text, lines }], at) => showAround(path, text, lines, shares[at] ?? 0))
    .join("\n\n");
}

/** Files that a coder needs to see again: those that its commands name, with the lines that a report speaks of. */
function linesToShowAgain(commands: readonly PatchCommand[], report: string): FileLines[] {
  const paths = affectedFiles(commands).map((path) => path.replace(/^\.\//, ""));
  const named = new Map<string, number[]>(paths.map((path) => [path, []]));
  for (const [, path = "", line] of report.matchAll(/([\w@./[\]-]+\.\w+)(?::|\(|", line )(\d+)/g)) {
    const known = paths.find((one) => path === one || path.endsWith(`/${one}`));
    if (known !== undefined) named.get(known)?.push(Number(line));
  }
  return [...named].map(([path, lines]) => ({ path, lines }));
}

function wordDoubts(doubts: readonly Doubt[]): string {
  return doubts.map(wordDoubt).join("\n");
}

function wordDoubt(doubt: Doubt): string {
  const { path } = doubt;
  switch (doubt.kind) {
    case "unseen":
      return `${path} exists and you have not seen it, yet your block would replace it whole. It is shown below: change what has to change.`;
    case "elision":
      return `${path}: the line "${doubt.line}" would become part of the file. Write all of the text, or change only the lines that differ.`;
    case "shrinks":
      return `${path} would shrink from ${doubt.from} to ${doubt.to} lines. Change only what has to change; if you mean it, send the same again.`;
  }
}

/**
 * The mark that two equal failures share: the words without the parts that differ from run to run, such as
 * durations, addresses, times and temporary names.
 */
function failureMark(report: string): string {
  return report
    .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, "<time>")
    .replace(/\b\d+(?:\.\d+)? ?(?:ms|s|sec|seconds?|µs|ns)\b/g, "<duration>")
    .replace(/duration_ms:? [\d.]+/g, "<duration>")
    .replace(/\b0x[0-9a-f]+\b/gi, "<address>")
    .replace(/\/tmp\/[\w./-]+/g, "<temporary>")
    .replace(/\s+/g, " ")
    .trim();
}

/** The result of an answer: the end, or a reply to the coder. */
type CoderStep = { readonly end: CoderEnd } | { readonly back: string };

/**
 * One coder at one message:
 *   ask → read the answer → carry out its patch on the bench → judge → what is red goes back → ask again
 * until it is green, the attempts are used up, or the same failure comes twice. Then one job lands, or what is red
 * becomes what `onRed` says.
 */
export async function coderLoop(loop: CoderLoop): Promise<CoderEnd> {
  const state: LoopState = {
    exchange: [],
    attempts: 0,
    explored: 0,
    proposal: null,
    red: null,
    mark: "",
    tried: [],
    asked: new Set(),
    told: new Set(),
    conflicts: 0,
    contested: [],
    answers: [],
  };
  try {
    for (;;) {
      if (loop.signal.aborted) return await endStopped(loop, state);
      loop.tell({ type: "doing", attempt: state.attempts + 1, doing: "asking" });
      const answer = await loop.ask(state.exchange);
      if (loop.signal.aborted) return await endStopped(loop, state);
      if (!answer.ok) return await endGivenUp(loop, state, { why: "unanswered", text: answer.text });
      const step = await takeAnswer(loop, state, answer);
      if ("end" in step) return step.end;
      state.exchange.push(
        { role: "assistant", text: answer.text },
        { role: "user", text: [step.back, wordSteering(loop)].filter((part) => part !== "").join("\n\n") },
      );
    }
  } finally {
    await loop.bench.drop("");
  }
}

/** The user's messages during the work, as worded for the coder; empty if there are none. */
function wordSteering({ steering, tell, mask }: CoderLoop): string {
  const said = steering();
  if (said.length === 0) return "";
  tell({ type: "steered", messages: said.length });
  return `Meanwhile the user wrote:\n${mask(said.join("\n"))}`;
}

async function takeAnswer(
  loop: CoderLoop,
  state: LoopState,
  answer: Extract<CoderAnswer, { ok: true }>,
): Promise<CoderStep> {
  const read = readProposal(answer.text);
  if (read.kind === "needs-files")
    return showMore(loop, state, { files: read.paths, searches: read.searches });
  if (loop.planOnly) {
    const plan = read.kind === "proposal" ? read.proposal.plan : "";
    return { end: { kind: "planned", plan: plan || answer.text.trim() } };
  }
  if (read.kind === "none") {
    if (looksLikePatch(read.text))
      return sendBack(loop, state, { report: "No patch could be read in your answer.", commands: [] });
    if (state.contested.length > 0) return { end: await endUnsettled(loop, state, read.text.trim()) };
    // A word to the user beside a finished draft is an answer, and the draft lands.
    if (isGreen(state)) {
      state.answers.push(read.text.trim());
      return commitBench(loop, state, state.attempts, []);
    }
    if (state.red === null) return { end: { kind: "said", text: read.text.trim() } };
    return { end: await endGivenUp(loop, state, { why: "gave-up" }, read.text.trim()) };
  }
  const { proposal } = read;
  const parsed = parsePatch(proposal.patch);
  if (!parsed.ok) {
    const { message, line } = parsed.failure;
    const where = line === undefined ? message : `${message} (line ${line} of the patch)`;
    return sendBack(loop, state, { report: `The patch could not be parsed: ${where}`, commands: [] });
  }
  if (parsed.commands.length === 0 && state.red !== null)
    return { end: await endGivenUp(loop, state, { why: "gave-up" }, proposal.plan) };
  if (parsed.commands.length === 0 && state.contested.length > 0)
    return { end: await endUnsettled(loop, state, proposal.plan.trim()) };
  if (parsed.commands.length === 0 && state.proposal !== null) {
    state.answers.push(proposal.plan.trim());
    return commitBench(loop, state, state.attempts, []);
  }
  return attemptProposal(loop, state, answer, proposal, parsed.commands);
}

/** Shows the content that the coder asks for; when the rounds are used up the coder is notified, once. */
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
    return { back: "You have seen what there is to see. Write the proposal now." };
  loop.tell({ type: "asks", wanted: all });
  const left = explore - state.explored;
  const rounds = left === 1 ? "1 such round is" : `${left} such rounds are`;
  return { back: `${loop.mask(loop.show(loop.bench.files(), asked))}\n\n(${rounds} left)` };
}

async function attemptProposal(
  loop: CoderLoop,
  state: LoopState,
  { shown }: Extract<CoderAnswer, { ok: true }>,
  proposal: Proposal,
  commands: readonly PatchCommand[],
): Promise<CoderStep> {
  const { bench, limits, tell } = loop;
  const doubts = doubtfulEdits(commands, bench.files().source, {
    shown,
    told: (path) => state.told.has(path),
  });
  if (doubts.length > 0) {
    for (const { path } of doubts) state.told.add(path);
    const named = new Set(doubts.map(({ path }) => path));
    const doubted = commands.filter(({ target, edit }) =>
      edit === undefined ? named.has(target.replace(/^\.\//, "")) : "path" in edit && named.has(edit.path),
    );
    return sendBack(loop, state, { report: wordDoubts(doubts), commands: doubted });
  }
  state.contested = [];
  const settled = await bench.settle(commands);
  const isContested = settled.stale.length > 0 && state.conflicts >= CONFLICT_ROUNDS;
  if (settled.stale.length > 0 && !isContested) return sendConflictBack(loop, state, settled.stale);
  const number = state.attempts + 1;
  tell({ type: "proposed", attempt: number, proposal, commands });
  if (state.proposal !== null) state.tried.push(state.proposal.plan);
  state.proposal = proposal;
  tell({ type: "doing", attempt: number, doing: "running" });
  const { merged } = settled;
  const carried = await bench.carryOut({ number, proposal, commands: settled.commands, merged });
  if (carried.kind === "refused") return { end: { kind: "refused", execution: carried.execution } };
  if (carried.kind === "aborted" || loop.signal.aborted) return { end: await endStopped(loop, state) };
  if (isContested) {
    state.red = { kind: "conflict", failed: [], brief: settled.stale.map(({ path }) => path).join(", ") };
    state.attempts = number;
    return { end: await endContested(loop, state) };
  }
  const failed = carried.results.filter(({ success }) => !success);
  if (failed.length === 0) tell({ type: "doing", attempt: number, doing: "checking" });
  const judged = failed.length === 0 ? await bench.judge(number) : null;
  if (loop.signal.aborted) return { end: await endStopped(loop, state) };
  state.red = findRedAttempt(failed, judged);
  if (state.red === null) return commitBench(loop, state, number, commands);
  const report = judged === null ? wordFailures(failed) : judged.report;
  const head = [
    `Attempt ${number} of ${limits.attempts} ran in a draft; nothing has landed yet.`,
    ...(judged === null ? [wordStatuses(carried.results)] : []),
  ];
  return sendBack(loop, state, {
    head: head.filter((part) => part !== "").join("\n"),
    report,
    commands,
    failed: judged === null ? failed : [],
  });
}

/** How often a coder is shown that others changed the same lines. */
const CONFLICT_ROUNDS = 2;

/** The draft is as it was but for what could be merged; the coder sees who changed what, and answers anew. */
function sendConflictBack(loop: CoderLoop, state: LoopState, stale: readonly StaleEdit[]): CoderStep {
  const { limits, bench, tell, mask } = loop;
  state.conflicts++;
  state.contested = stale.map(({ path }) => path);
  const paths = stale.map(({ path, other }) => other.movedTo ?? path);
  tell({ type: "contested", paths, jobs: stale.flatMap(({ other }) => other.job?.jobId ?? []) });
  const places = [...new Set(paths)].map((path) => ({ path, lines: [] }));
  const files = showAgain(bench.files(), places, limits.shownChars);
  const back = [
    mask(wordStaleEdits(stale, limits.shownChars)),
    files === "" ? "" : `As they are now:\n${mask(files)}`,
  ];
  return { back: back.filter((part) => part !== "").join("\n\n") };
}

interface SentBack {
  readonly head?: string;
  readonly report: string;
  /** Whose files it should see again. */
  readonly commands: readonly PatchCommand[];
  /** Where these are edits alone, the lines that they meant are enough to see. */
  readonly failed?: readonly CommandResult[];
}

const FIX_THE_REST =
  "What succeeded stays in the draft. Answer with a proposal that mends the rest: only what is still to be changed, against the files as they are now.";

async function sendBack(
  loop: CoderLoop,
  state: LoopState,
  { head, report, commands, failed = [] }: SentBack,
): Promise<CoderStep> {
  const { limits, bench, tell, mask } = loop;
  state.attempts++;
  const mark = failureMark(report);
  const isSame = mark === state.mark;
  state.mark = mark;
  if (isSame) return { end: await endGivenUp(loop, state, { why: "same" }, "", report) };
  if (state.attempts >= limits.attempts)
    return { end: await endGivenUp(loop, state, { why: "attempts", limit: limits.attempts }, "", report) };
  const brief = mask(state.red?.brief || report.split("\n")[0] || "");
  tell({ type: "sent-back", attempt: state.attempts, of: limits.attempts, brief });
  const files =
    showFailedEdits(bench.files(), failed, commands, limits.shownChars) ??
    showAgain(bench.files(), linesToShowAgain(commands, report), limits.shownChars);
  const back = [
    head ?? "",
    mask(report),
    files === "" ? "" : `As they are now:\n${files}`,
    head === undefined ? "Nothing of it was run. Send the whole proposal again, corrected." : FIX_THE_REST,
  ];
  return { back: back.filter((part) => part !== "").join("\n\n") };
}

/** Nothing is red. Where somebody changed the workspace meanwhile, it is judged once more before it lands. */
async function commitBench(
  loop: CoderLoop,
  state: LoopState,
  number: number,
  commands: readonly PatchCommand[],
  { steered = true }: { readonly steered?: boolean } = {},
): Promise<CoderStep> {
  const { bench, preview } = loop;
  state.attempts = number;
  const said = steered && number < loop.limits.attempts ? wordSteering(loop) : "";
  if (said !== "")
    return {
      back: `Nothing failed.\n\n${said}\n\nAnswer with what is still to be changed, or an empty patch.`,
    };
  const other = await endPassedOver(loop, state, number);
  if (other !== null) return { end: other };
  // A preview of nothing would wait to be applied for nothing.
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
      return { end: endLanded(state, landed.execution) };
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
        back: `Your change is in a draft; nothing has landed yet. Files that you were shown have changed meanwhile:\n${files}\n\nIf your change still fits, answer with an empty patch; else with what is still to be changed.`,
      };
    }
  }
}

/** A draft that others never let land is kept, and that is no success. */
function endLanded(state: LoopState, execution: Execution): CoderEnd {
  if (execution.status === "ran" && execution.outcome === "staged")
    state.red = {
      kind: "conflict",
      failed: [],
      brief: execution.result.changes.map(({ path }) => path).join(", "),
    };
  return endWorked(state, execution, state.red === null ? null : { why: "conflict" }, "");
}
