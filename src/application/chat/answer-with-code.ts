import { agentOf, type CoderRole } from "../../domain/chat/roster.ts";
import { affectedFiles } from "../../domain/coder/affected-files.ts";
import { hasFlag } from "../../domain/coder/proposal-proposal.ts";
import { oneLine } from "../../domain/jobs/format-results.ts";
import type { ChecksFacts } from "../../domain/checks/checks-facts.ts";
import { createExplorer } from "../coder/explorer.ts";
import { showAsked } from "../coder/show-asked.ts";
import { createSkills } from "./skills.ts";
import type { ToolCall } from "../ports/models.ts";
import type { CoderEnd, CoderEnding } from "../coder/coder-end.ts";
import { coderLoop } from "../coder/coder-loop.ts";
import type { CoderEvent, CoderLoop } from "../coder/coder-loop-parts.ts";
import { say } from "./reply-words.ts";
import { createAnswer, createLabelledAction } from "./answering.ts";
import { openBench, type SharedBench } from "./coder-bench.ts";
import { createCoderLooks } from "./coder-looks.ts";
import { type CoderTalk, createCoderTalk } from "./coder-talk.ts";
import { createNotice } from "./notice.ts";
import type { ChatDeps } from "./chat-turn.ts";
import { reportWork } from "./report-job.ts";
import type { Answer, ChatTurn } from "./turn.ts";

/** Characters of files that go back to a coder with a report. */
const SHOWN_AGAIN = 24_000;

/** Characters that one look by a tool shows. */
const LOOK_CHARS = 16_000;

export interface CodeRequest {
  readonly role: CoderRole;
  readonly text: string;
  /** `/code plan …`: it explores and writes nothing. */
  readonly planOnly: boolean;
}

export interface CoderRun extends CodeRequest, Pick<CoderLoop, "steering"> {
  /** Whether its draft is taken, by what it would end with and what the checks showed. */
  readonly chosen?: (ending: CoderEnding, checked: ChecksFacts | null) => Promise<boolean>;
  /** Where others work on the same message. */
  readonly beside?: SharedBench;
  readonly time?: { leftMs: number };
}

/** A coder route: proposals run at once in a draft until it is green, and land as one job; the answer is its facts. */
export async function answerWithCode(parts: ChatDeps, turn: ChatTurn, request: CodeRequest): Promise<Answer> {
  const desk = parts.steering.open(turn.sessionKey);
  const ended = await runCoder(parts, turn, { ...request, steering: desk.take }).finally(desk.close);
  return answerForCoder(parts, turn, ended);
}

/** One coder at a message, to its end. */
export async function runCoder(
  parts: ChatDeps,
  turn: ChatTurn,
  { role, text, planOnly, steering, chosen, beside, time }: CoderRun,
): Promise<CoderRunResult> {
  const { settings, workspace } = parts;
  const { bench, checks, checked } = await openBench(parts, turn, {
    request: text,
    judged: !planOnly,
    beside,
  });
  const { attempts, explore, onRed } = settings.coder;
  const { tryOut } = bench;
  const skills = createSkills(parts.ownCommands);
  const explorer = createExplorer({
    project: () => skills.beside(bench.files()),
    request: text,
    limit: LOOK_CHARS,
    mask: workspace.mask,
    ...(tryOut !== undefined && { run: tryOut }),
  });
  const looks = createCoderLooks({
    explorer,
    rounds: explore,
    tell: (calls) => reportCoderEvent(parts, turn, { type: "asks", wanted: calls.map(wordCall) }, checks),
  });
  const asked = { role, request: text, planOnly, checks: checks.join(", "), looks, skills, time };
  const talk = createCoderTalk(parts, turn, asked);
  const end = await coderLoop({
    ask: talk.ask,
    bench,
    show: (files, asked) =>
      showAsked(skills.beside(files), asked, { request: text, limit: talk.budget().files }),
    limits: { attempts, explore, onRed, shownChars: SHOWN_AGAIN },
    planOnly,
    preview: turn.preview,
    steering,
    ...(chosen !== undefined && { chosen: (ending) => chosen(ending, checked()) }),
    signal: turn.signal,
    tell: (event) => reportCoderEvent(parts, turn, event, checks),
    mask: workspace.mask,
  });
  return { role, text, end, talk, checked: checked() };
}

/** A look as whoever watches is told: the tool, and what it was given. */
function wordCall({ name, arguments: given }: ToolCall): string {
  const values = typeof given === "object" && given !== null ? Object.values(given) : [];
  return oneLine([name, ...values.map(String)].join(" ")).slice(0, 100);
}

export interface CoderRunResult {
  readonly role: CoderRole;
  readonly text: string;
  readonly end: CoderEnd;
  readonly talk: CoderTalk;
  readonly checked: ChecksFacts | null;
}

/** What a coder's end says to the user. */
export async function answerForCoder(
  parts: ChatDeps,
  turn: ChatTurn,
  { role, text, end, talk, checked }: CoderRunResult,
): Promise<Answer> {
  const by = talk.model();
  const about = {
    agent: agentOf(role),
    ...(by !== undefined && { model: { provider: by.provider, model: by.model, local: by.local } }),
  };
  const { mask } = parts.workspace;
  switch (end.kind) {
    case "said":
      return { ...createAnswer(parts, [{ kind: "text", text: mask(end.text) }], true), ...about };
    case "planned": {
      const said = [{ kind: "text", text: mask(end.plan) } as const, say("planHint")];
      const actions = [createLabelledAction(parts, (chat) => chat.goLabel, "go")];
      return { ...createAnswer(parts, said, true), ...about, actions };
    }
    case "unanswered":
      return { ...createAnswer(parts, [{ kind: "worded", texts: end.text }], false), ...about };
    case "unusable":
      return { ...createAnswer(parts, [say("proposalUnusable", mask(end.why))], false), ...about };
    case "aborted":
    case "passed-over":
      return { ...createAnswer(parts, [say("aborted")], false), ...about };
    case "refused":
    case "worked": {
      const report = reportWork(parts, turn, { end, checked });
      const { said, ok, job, actions } = report;
      if (job !== undefined) turn.emit({ type: "job-finished", jobId: job.job_id, success: ok });
      const jobs = job === undefined ? [] : [job];
      const done = { ...createAnswer(parts, said, ok), ...about, jobs, actions };
      if (!ok || end.kind !== "worked" || turn.dryRun || turn.preview) return done;
      if (!hasFlag(end.proposal, "uses_browser")) return done;
      const { browse } = await import("./browse.ts");
      return browse(parts, turn, { request: text, proposal: end.proposal, done });
    }
  }
}

/** Nobody approves a job, so the log says what is about to run before it runs. */
function reportCoderEvent(
  parts: ChatDeps,
  turn: ChatTurn,
  event: CoderEvent,
  checks: readonly string[],
): void {
  const { workspace, logger, settings } = parts;
  const { mask } = workspace;
  switch (event.type) {
    case "asks":
      turn.emit(createNotice(parts, (chat) => chat.needsFiles(event.wanted.map(mask))));
      return;
    case "sent-back":
      turn.emit(createNotice(parts, (chat) => chat.sentBack(event.attempt, event.of, mask(event.brief))));
      return;
    case "doing": {
      const { attempt, doing } = event;
      const { inputTokens, outputTokens, costUsd } = turn.models.used();
      const of = settings.coder.attempts;
      const tokens = inputTokens + outputTokens;
      const detail = doing === "checking" ? checks.join(", ") : "";
      if (doing !== "checking" || detail !== "")
        turn.emit({ type: "progress", attempt, of, doing, detail, tokens, costUsd });
      return;
    }
    case "steered":
      turn.emit(createNotice(parts, (chat) => chat.steered));
      return;
    case "proposed": {
      const { plan, patch, risk, costHint, flags } = event.proposal;
      const files = affectedFiles(event.commands);
      logger.info("chat", "chat.proposed", "chat.proposed", {
        session_key: turn.sessionKey,
        group_id: turn.groupId,
        attempt: event.attempt,
        plan,
        patch,
        risk,
        cost_hint: costHint,
        affected_files: files,
        flags,
      });
      turn.emit({
        type: "proposed",
        plan: mask(plan),
        commands: event.commands.length,
        risk,
        files: files.map(mask),
      });
    }
  }
}
