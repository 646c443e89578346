import type { PatchCommand } from "../../domain/patch/command.ts";
import { parsePatch } from "../../domain/patch/parse-patch.ts";
import { doubtfulEdits } from "../../domain/coder/check-edits.ts";
import type { Proposal } from "../../domain/coder/proposal-proposal.ts";
import { looksLikePatch, readProposal } from "../../domain/coder/proposal.ts";
import type { AskedContext } from "./show-asked.ts";
import type { CoderEnd } from "./coder-end.ts";
import type { CoderAnswer, CoderLoop, LoopState } from "./coder-loop-parts.ts";
import { endGivenUp, endPassedOver, endStopped, endWorked } from "./end-coder.ts";
import { findRedAttempt } from "./red-of.ts";
import { showAgain } from "./show-again.ts";
import { failureMark, linesToShowAgain, wordDoubts, wordFailures } from "./word-back.ts";

/** What an answer leads to: the end, or a reply to the coder. */
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

/** What the user wrote meanwhile, as the coder is told; empty where nothing came. */
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
  if (parsed.commands.length === 0 && state.proposal !== null)
    return commitBench(loop, state, state.attempts, []);
  return attemptProposal(loop, state, answer, proposal, parsed.commands);
}

/** What the coder asks to see; when the rounds are used up it is told so, once. */
function showMore(loop: CoderLoop, state: LoopState, asked: AskedContext): CoderStep {
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
  const number = state.attempts + 1;
  tell({ type: "proposed", attempt: number, proposal, commands });
  if (state.proposal !== null) state.tried.push(state.proposal.plan);
  state.proposal = proposal;
  tell({ type: "doing", attempt: number, doing: "running" });
  const carried = await bench.carryOut({ number, proposal, commands });
  if (carried.kind === "refused") return { end: { kind: "refused", execution: carried.execution } };
  if (carried.kind === "aborted" || loop.signal.aborted) return { end: await endStopped(loop, state) };
  const failed = carried.results.filter(({ success }) => !success);
  if (failed.length === 0) tell({ type: "doing", attempt: number, doing: "checking" });
  const judged = failed.length === 0 ? await bench.judge(number) : null;
  if (loop.signal.aborted) return { end: await endStopped(loop, state) };
  state.red = findRedAttempt(failed, judged);
  if (state.red === null) return commitBench(loop, state, number, commands);
  const report = judged === null ? wordFailures(failed) : judged.report;
  const head = `Attempt ${number} of ${limits.attempts} ran in a draft; nothing has landed yet.`;
  return sendBack(loop, state, { head, report, commands });
}

interface SentBack {
  readonly head?: string;
  readonly report: string;
  /** Whose files it should see again. */
  readonly commands: readonly PatchCommand[];
}

const FIX_THE_REST =
  "What succeeded stays in the draft. Answer with a proposal that mends the rest: only what is still to be changed, against the files as they are now.";

async function sendBack(
  loop: CoderLoop,
  state: LoopState,
  { head, report, commands }: SentBack,
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
  const places = linesToShowAgain(commands, report);
  const files = showAgain(bench.files(), places, limits.shownChars);
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
): Promise<CoderStep> {
  const { bench, preview } = loop;
  const other = await endPassedOver(loop, state, number);
  if (other !== null) return { end: other };
  const confirmed = await bench.confirm(number);
  state.red = findRedAttempt([], confirmed);
  if (confirmed !== null && state.red !== null)
    return sendBack(loop, state, {
      head: "The workspace changed meanwhile.",
      report: confirmed.report,
      commands,
    });
  state.attempts = number;
  const said = number < loop.limits.attempts ? wordSteering(loop) : "";
  if (said !== "")
    return {
      back: `Nothing failed.\n\n${said}\n\nAnswer with what is still to be changed, or an empty patch.`,
    };
  // A preview of nothing would wait to be applied for nothing.
  const words = state.proposal?.plan.trim() ?? "";
  if (preview && commands.length === 0 && words !== "" && bench.changes().length === 0)
    return { end: { kind: "said", text: words } };
  await bench.sendOut(number);
  return { end: endWorked(state, await (preview ? bench.keep() : bench.land()), null, "") };
}
