import type { PatchCommand } from "../../../domain/patch/command.ts";
import { parsePatch } from "../../../domain/patch/parse-patch.ts";
import type { CommandResult } from "../../../domain/patch/result.ts";
import { doubtfulEdits } from "../../../domain/proposal/doubtful-edits.ts";
import type { Proposal } from "../../../domain/proposal/proposal.ts";
import { looksLikePatch, readProposal } from "../../../domain/proposal/read-proposal.ts";
import type { Worded } from "../../../domain/texts/worded.ts";
import type { Asked } from "../../context/show-asked.ts";
import type { ModelMessage } from "../../ports/model.ts";
import type { ProjectFiles } from "../../ports/project-files.ts";
import type { Judged } from "../checks/project-checks.ts";
import type { Bench } from "./bench.ts";
import type { CoderEnd, CoderEnding, Red, Stopped } from "./coder-end.ts";
import { showAgain } from "./show-again.ts";
import { failureMark, placesOf, wordDoubts, wordFailures } from "./word-back.ts";

export interface CoderLoop {
  /** Asks the coder, with what was said after the request. */
  readonly ask: (exchange: readonly ModelMessage[]) => Promise<CoderAnswer>;
  readonly bench: Bench;
  /** What it asks to see before it writes. */
  readonly show: (files: ProjectFiles, asked: Asked) => string;
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
  /** What the user wrote since it was last asked. */
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

/** What somebody who watches is told. */
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
  | { readonly type: "steered"; readonly messages: number };

interface State {
  readonly exchange: ModelMessage[];
  attempts: number;
  explored: number;
  proposal: Proposal | null;
  red: Red | null;
  /** What went back last, so that the same is not sent twice. */
  mark: string;
  readonly tried: string[];
  readonly asked: Set<string>;
  /** Files that it was warned about. */
  readonly told: Set<string>;
}

/** What an answer leads to: the end, or a reply to the coder. */
type Step = { readonly end: CoderEnd } | { readonly back: string };

/**
 * One coder at one message:
 *   ask → read the answer → carry out its patch on the bench → judge → what is red goes back → ask again
 * until it is green, the attempts are used up, or the same failure comes twice. Then one job lands, or what is red
 * becomes what `onRed` says.
 */
export async function coderLoop(loop: CoderLoop): Promise<CoderEnd> {
  const state: State = {
    exchange: [],
    attempts: 0,
    explored: 0,
    proposal: null,
    red: null,
    mark: "",
    tried: [],
    asked: new Set(),
    told: new Set(),
  };
  try {
    for (;;) {
      if (loop.signal.aborted) return await stopped(loop, state);
      loop.tell({ type: "doing", attempt: state.attempts + 1, doing: "asking" });
      const answer = await loop.ask(state.exchange);
      if (loop.signal.aborted) return await stopped(loop, state);
      if (!answer.ok) return await giveUp(loop, state, { why: "unanswered", text: answer.text });
      const step = await take(loop, state, answer);
      if ("end" in step) return step.end;
      state.exchange.push(
        { role: "assistant", text: answer.text },
        { role: "user", text: [step.back, steered(loop)].filter((part) => part !== "").join("\n\n") },
      );
    }
  } finally {
    await loop.bench.drop("");
  }
}

/** What the user wrote meanwhile, as the coder is told; empty where nothing came. */
function steered({ steering, tell, mask }: CoderLoop): string {
  const said = steering();
  if (said.length === 0) return "";
  tell({ type: "steered", messages: said.length });
  return `Meanwhile the user wrote:\n${mask(said.join("\n"))}`;
}

async function take(
  loop: CoderLoop,
  state: State,
  answer: Extract<CoderAnswer, { ok: true }>,
): Promise<Step> {
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
    if (state.red === null) return { end: { kind: "said", text: read.text.trim() } };
    return { end: await giveUp(loop, state, { why: "gave-up" }, read.text.trim()) };
  }
  const { proposal } = read;
  const parsed = parsePatch(proposal.patch);
  if (!parsed.ok) {
    const { message, line } = parsed.failure;
    const where = line === undefined ? message : `${message} (line ${line} of the patch)`;
    return sendBack(loop, state, { report: `The patch could not be parsed: ${where}`, commands: [] });
  }
  if (parsed.commands.length === 0 && state.red !== null)
    return { end: await giveUp(loop, state, { why: "gave-up" }, proposal.plan) };
  if (parsed.commands.length === 0 && state.proposal !== null) return land(loop, state, state.attempts, []);
  return attempt(loop, state, answer, proposal, parsed.commands);
}

/** What the coder asks to see; when the rounds are used up it is told so, once. */
function showMore(loop: CoderLoop, state: State, asked: Asked): Step {
  const { explore } = loop.limits;
  state.explored++;
  if (state.explored > explore + 1) return { end: { kind: "unusable", why: `coder.explore: ${explore}` } };
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

async function attempt(
  loop: CoderLoop,
  state: State,
  { shown }: Extract<CoderAnswer, { ok: true }>,
  proposal: Proposal,
  commands: readonly PatchCommand[],
): Promise<Step> {
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
  const number = state.attempts + 1;
  tell({ type: "proposed", attempt: number, proposal, commands });
  if (state.proposal !== null) state.tried.push(state.proposal.plan);
  state.proposal = proposal;
  tell({ type: "doing", attempt: number, doing: "running" });
  const carried = await bench.carryOut({ number, proposal, commands });
  if (carried.kind === "refused") return { end: { kind: "refused", execution: carried.execution } };
  if (carried.kind === "aborted" || loop.signal.aborted) return { end: await stopped(loop, state) };
  const failed = carried.results.filter(({ success }) => !success);
  if (failed.length === 0) tell({ type: "doing", attempt: number, doing: "checking" });
  const judged = failed.length === 0 ? await bench.judge(number) : null;
  if (loop.signal.aborted) return { end: await stopped(loop, state) };
  state.red = redOf(failed, judged);
  if (state.red === null) return land(loop, state, number, commands);
  const report = judged === null ? wordFailures(failed) : judged.report;
  const head = `Attempt ${number} of ${limits.attempts} ran in a draft; nothing has landed yet.`;
  return sendBack(loop, state, { head, report, commands });
}

function redOf(failed: readonly CommandResult[], judged: Judged | null): Red | null {
  if (failed.length > 0) return { kind: "failing", failed, brief: briefly(failed) };
  if (judged?.verdict !== "red") return null;
  const kind = judged.facts.unended === undefined ? "worse" : "unended";
  return { kind, failed: [], brief: judged.brief };
}

function briefly(failed: readonly CommandResult[]): string {
  const [first] = failed;
  if (first === undefined) return "";
  const { command, error } = first;
  const what = command.target.split("\n")[0] ?? "";
  const why = error.split("\n")[0]?.replace(/ \(output: .*$/, "") ?? "";
  return why.startsWith(`${what}: `) ? why : `${what}: ${why}`;
}

interface Back {
  readonly head?: string;
  readonly report: string;
  /** Whose files it should see again. */
  readonly commands: readonly PatchCommand[];
}

const MEND =
  "What succeeded stays in the draft. Answer with a proposal that mends the rest: only what is still to be changed, against the files as they are now.";

async function sendBack(loop: CoderLoop, state: State, { head, report, commands }: Back): Promise<Step> {
  const { limits, bench, tell, mask } = loop;
  state.attempts++;
  const mark = failureMark(report);
  const isSame = mark === state.mark;
  state.mark = mark;
  if (isSame) return { end: await giveUp(loop, state, { why: "same" }, "", report) };
  if (state.attempts >= limits.attempts)
    return { end: await giveUp(loop, state, { why: "attempts", limit: limits.attempts }, "", report) };
  const brief = mask(state.red?.brief || report.split("\n")[0] || "");
  tell({ type: "sent-back", attempt: state.attempts, of: limits.attempts, brief });
  const places = placesOf(commands, report);
  const files = showAgain(bench.files(), places, limits.shownChars);
  const back = [
    head ?? "",
    mask(report),
    files === "" ? "" : `As they are now:\n${files}`,
    head === undefined ? "Nothing of it was run. Send the whole proposal again, corrected." : MEND,
  ];
  return { back: back.filter((part) => part !== "").join("\n\n") };
}

/** The user gave up: a draft that is ended then takes everything back, and its job says so. */
async function stopped({ bench }: CoderLoop, state: State): Promise<CoderEnd> {
  if (state.proposal === null) return { kind: "aborted" };
  return ended({ ...state, red: null }, await bench.land(), null, "");
}

/** The end of a coder whose draft is not taken; null where it is, or where it works alone. */
async function passedOver(
  { chosen, signal, bench }: CoderLoop,
  state: State,
  attempts: number,
): Promise<CoderEnd | null> {
  const { proposal, red } = state;
  if (chosen === undefined || proposal === null) return null;
  if (!(await chosen({ proposal, red, attempts }))) return { kind: "passed-over" };
  return signal.aborted ? ended({ ...state, red: null }, await bench.land(), null, "") : null;
}

/** Nothing is red. Where somebody changed the workspace meanwhile, it is judged once more before it lands. */
async function land(
  loop: CoderLoop,
  state: State,
  number: number,
  commands: readonly PatchCommand[],
): Promise<Step> {
  const { bench, preview } = loop;
  const other = await passedOver(loop, state, number);
  if (other !== null) return { end: other };
  const confirmed = await bench.confirm(number);
  state.red = redOf([], confirmed);
  if (confirmed !== null && state.red !== null)
    return sendBack(loop, state, {
      head: "The workspace changed meanwhile.",
      report: confirmed.report,
      commands,
    });
  state.attempts = number;
  const said = number < loop.limits.attempts ? steered(loop) : "";
  if (said !== "")
    return {
      back: `Nothing failed.\n\n${said}\n\nAnswer with what is still to be changed, or an empty patch.`,
    };
  // A preview of nothing would wait to be applied for nothing.
  const words = state.proposal?.plan.trim() ?? "";
  if (preview && commands.length === 0 && words !== "" && bench.changes().length === 0)
    return { end: { kind: "said", text: words } };
  await bench.sendOut(number);
  return { end: ended(state, await (preview ? bench.keep() : bench.land()), null, "") };
}

/** Green is out of reach: the draft becomes what `onRed` says, where there is one. */
async function giveUp(
  loop: CoderLoop,
  state: State,
  stopped: Stopped,
  words = "",
  report = "",
): Promise<CoderEnd> {
  const { bench, limits } = loop;
  const { red } = state;
  if (red === null) {
    if (stopped.why === "unanswered") return { kind: "unanswered", text: stopped.text };
    return { kind: "unusable", why: report || words };
  }
  const other = await passedOver(loop, state, state.attempts);
  if (other !== null) return other;
  // There is nothing to keep; what its commands did is told.
  if (red.kind === "failing" && bench.changes().length === 0)
    return ended(state, await bench.land(), stopped, words);
  // Its own commands fail, but edits do not: the project's checks may still say that nothing is worse.
  if (red.kind === "failing" && red.failed.every(({ command }) => command.type !== "file_edit")) {
    const judged = await bench.judge(state.attempts);
    if (judged?.verdict === "green") return ended(state, await bench.land(), stopped, words);
  }
  switch (limits.onRed) {
    case "apply":
      return ended(state, await bench.land(), stopped, words);
    case "preview":
      return ended(state, await bench.keep(red.kind), stopped, words);
    case "discard":
      return ended(state, null, stopped, words);
  }
}

function ended(
  { proposal, attempts, red, tried }: State,
  execution: Extract<CoderEnd, { kind: "worked" }>["execution"],
  stopped: Stopped | null,
  words: string,
): CoderEnd {
  if (proposal === null) throw new Error("a coder's work ended without a proposal");
  return { kind: "worked", proposal, execution, story: { attempts, red, stopped, tried, words } };
}
