import type { CoderRole } from "../../domain/chat/agents.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import { oneLine } from "../../domain/texts/format-text.ts";
import type { Bench } from "../coder/bench.ts";
import type { Delegation } from "../coder/explorer.ts";
import { type Lending, type ReturnedWork, wordReturnConflicts } from "../drafts/lend-draft.ts";
import { agentSource } from "../jobs/job-facts.ts";
import type { ToolResult } from "../models/tool-loop.ts";
import { createRunInTurn } from "../platform/waiting.ts";
import type { ChatEvent } from "../ports/chat.ts";
import type { CoderEnd, CoderEnding } from "../ports/coder.ts";
import type { AgentEnd } from "../ports/jobs.ts";
import { type ChatTurn, type CoderDeps, toUsedFigures } from "./chat-turn.ts";
import type { CoderRun } from "./run-candidates.ts";

export interface CoderAgentsDeps {
  readonly chat: CoderDeps;
  readonly turn: ChatTurn;
  readonly role: CoderRole;
  readonly bench: Pick<Bench, "lend">;
  /** The coder only plans: no agent may write. */
  readonly planOnly: boolean;
  readonly run: (deps: CoderDeps, turn: ChatTurn, agent: CoderRun) => Promise<{ readonly end: CoderEnd }>;
}

/** A message may use this many times the sub-agents that may work at once. */
const ROUNDS = 3;
const TIME_SHARE = 0.5;
const CONFLICT_CHARS = 12_000;
const WORDS_CHARS = 8_000;
const STEP_CHARS = 120;
const TASK_CHARS = 160;
/** How often the journal is read for a request to stop one of them. */
const STOP_LOOK_MS = 500;

/** Each sub-agent is a coder in a draft over its coder's draft, with a share of time and budget; its work is merged into that draft. */
export function createCoderAgents(deps: CoderAgentsDeps): (asked: Delegation) => Promise<ToolResult> {
  const { subAgents: most } = deps.chat.settings.coder;
  const inTurn = createRunInTurn(most);
  let begun = 0;
  return async (asked) => {
    if (asked.writes && deps.planOnly)
      return refused("only a plan was requested, so a sub-agent may not write");
    if (asked.writes && deps.turn.dryRun) return refused("nothing is written in dry mode");
    if (begun >= most * ROUNDS)
      return refused(`${most * ROUNDS} sub-agents have worked: do the rest yourself`);
    const number = ++begun;
    const lending = (await deps.bench.lend?.()) ?? null;
    if (lending === null) return refused("no sub-agent can work here: do it yourself");
    return inTurn(() => runAgent(deps, lending, number, asked));
  };
}

function refused(why: string): ToolResult {
  return { ok: false, text: `refused: ${why}` };
}

interface AgentOutcome {
  readonly end: AgentEnd;
  readonly files: number;
  readonly text: string;
}

async function runAgent(
  deps: CoderAgentsDeps,
  lending: Lending,
  number: number,
  asked: Delegation,
): Promise<ToolResult> {
  const { chat, turn } = deps;
  const { mask } = chat.workspace;
  const { writes } = asked;
  const task = mask(oneLine(asked.task)).slice(0, TASK_CHARS).toWellFormed();
  const stop = new AbortController();
  const models = turn.models.part();
  const { jobId } = lending;
  const tell = (state: "working" | AgentEnd, doing: string, files = 0) => {
    const used = toUsedFigures(models.used());
    turn.emit({ type: "agent", jobId, number, task, writes, state, doing, files, ...used });
  };
  let doing = "";
  const watch = (event: ChatEvent) => {
    const step = mask(stepOf(event)).slice(0, STEP_CHARS).toWellFormed();
    if (step === "" || step === doing) return;
    doing = step;
    lending.journal({ type: "agent_step", agent: number, doing: step });
    tell("working", step);
  };
  lending.journal({ type: "agent_started", agent: number, task, writes });
  tell("working", "");
  const endWatch = watchForStop(deps, lending, number, stop);
  const outcome = await workOn(deps, {
    lending,
    number,
    asked,
    turn: toAgentTurn(turn, { models, emit: watch, signal: AbortSignal.any([turn.signal, stop.signal]) }),
  }).finally(endWatch);
  const { tokens, costUsd: cost_usd } = toUsedFigures(models.used());
  const { end, files, text } = outcome;
  lending.journal({ type: "agent_ended", agent: number, end, files, tokens, cost_usd });
  tell(end, "", files);
  return { ok: end === "done", text };
}

/** A sub-agent knows the workspace and its task, and nothing about the chat. */
function toAgentTurn(turn: ChatTurn, own: Pick<ChatTurn, "models" | "emit" | "signal">): ChatTurn {
  return { ...turn, ...own, history: [], older: [], memory: "", images: [], tellsDrafts: false, notes: [] };
}

/** Another process requests a stop through the journal; `/stop` ends all of them by the message's signal. */
function watchForStop(
  { chat }: CoderAgentsDeps,
  { jobId }: Lending,
  number: number,
  stop: AbortController,
): () => void {
  const timer = setInterval(() => {
    const isAsked = chat.workspace.archive
      .events(jobId)
      .some(({ event }) => event.type === "agent_stop" && event.agent === number);
    if (isAsked) stop.abort();
  }, STOP_LOOK_MS);
  return () => clearInterval(timer);
}

const SIGNS = { read: "", search: "search ", run: "$ ", call: "", retry: "✗ " } as const;

/** The step in few words that need no translation; empty for other events. */
function stepOf(event: ChatEvent): string {
  switch (event.type) {
    case "thinking":
      return `${event.provider}/${event.model}`;
    case "notice":
      return event.step === undefined ? "" : `${SIGNS[event.step.kind]}${oneLine(event.step.detail)}`;
    case "proposed":
      return oneLine(event.plan);
    case "job-command": {
      const [type = "", , ...rest] = event.command.split(" ");
      return `${type === "file_edit" ? "✎" : "$"} ${rest.join(" ")}`;
    }
    default:
      return "";
  }
}

interface AgentWork {
  readonly lending: Lending;
  readonly number: number;
  readonly asked: Delegation;
  readonly turn: ChatTurn;
}

/** Never rejects: an error in a sub-agent does not stop the coder. */
async function workOn(
  { chat, run, role, turn: whole }: CoderAgentsDeps,
  { lending, number, asked: { task, files, writes }, turn }: AgentWork,
): Promise<AgentOutcome> {
  const { settings, workspace, projectOf } = chat;
  const { coder } = settings;
  const share = budgetShare(coder, whole.models.used().costUsd);
  const lent = lending.lend(agentSource(lending.jobId, number));
  let returned: ReturnedWork | null = null;
  let ending: CoderEnding | null = null;
  let held: readonly PatchCommand[] = [];
  try {
    const { end } = await run(
      {
        ...chat,
        project: projectOf(lent.files),
        settings: { ...settings, coder: { ...coder, budgetUsd: share } },
      },
      turn,
      {
        role,
        text: files.length === 0 ? task : `${task}\n\nBegin with: ${files.join(", ")}`,
        planOnly: !writes,
        isSubAgent: true,
        steering: () => [],
        async chosen(reached, _, waiting) {
          ending = reached;
          held = [...waiting];
          if (reached.red === null && !turn.signal.aborted) returned = await lent.giveBack(0);
          return false;
        },
        async handOver(reached, contested, waiting) {
          ending = reached;
          held = [...waiting];
          if (!turn.signal.aborted) returned = await lent.giveBack(0, contested);
        },
        // A writer's draft is based on the workspace, so it conflicts only with saves there; the coder's draft merges the rest.
        beside: { openDraft: lent.openDraft, ...(!writes && { files: lent.files }) },
        time: { leftMs: coder.maxMinutes * 60_000 * TIME_SHARE },
      },
    );
    const isOver = share !== null && turn.models.used().costUsd >= share;
    return wordOutcome(number, { end, ending, returned, held, isOver, isStopped: turn.signal.aborted });
  } catch (error) {
    chat.logger.error("chat", "chat.agent_failed", "chat.agent_failed", { error: String(error) });
    const why = workspace.mask(error instanceof Error ? error.message : String(error));
    const text = `Sub-agent ${number} stopped with an error, so none of its work was used: ${why}`;
    return { end: "failed", files: 0, text };
  }
}

/** A share of the message's budget, and never more than the rest of it; null: no limit. */
function budgetShare(
  { budgetUsd, subAgents }: CoderDeps["settings"]["coder"],
  usedUsd: number,
): number | null {
  if (budgetUsd === null) return null;
  return Math.min(budgetUsd / (subAgents + 1), Math.max(0, budgetUsd - usedUsd));
}

interface EndedAgent {
  readonly end: CoderEnd;
  /** The changes of its draft, where it had one. */
  readonly ending: CoderEnding | null;
  readonly returned: ReturnedWork | null;
  readonly held: readonly PatchCommand[];
  readonly isOver: boolean;
  readonly isStopped: boolean;
}

function wordOutcome(number: number, ended: EndedAgent): AgentOutcome {
  const { end, ending, returned, isOver, isStopped } = ended;
  const who = `Sub-agent ${number}`;
  const cut = (text: string) => text.slice(0, WORDS_CHARS).toWellFormed();
  const failed = (text: string): AgentOutcome => ({ end: "failed", files: 0, text: cut(text) });
  if (returned !== null && ending !== null) return wordReturned(who, ending, returned, ended.held);
  if (isStopped) return { end: "stopped", files: 0, text: `${who} was stopped; none of its work was used.` };
  if (ending?.red != null)
    return failed(`${who} could not make the checks pass, so none of its work was used: ${ending.red.brief}`);
  switch (end.kind) {
    case "said": {
      const words = [`${who} changed nothing and says:`, end.text, ...(end.reason ? [end.reason] : [])];
      return { end: "done", files: 0, text: cut(words.join("\n")) };
    }
    case "planned":
      return { end: "done", files: 0, text: cut(`${who} says:\n${end.plan}`) };
    case "unanswered":
      return failed(
        isOver
          ? `${who} used up its share of coder.budget_usd, so none of its work was used.`
          : `${who} got no answer from its model, so none of its work was used: ${end.text.en}`,
      );
    case "unusable":
      return failed(`${who} wrote nothing that could be executed: ${end.reason?.kind ?? end.why}`);
    case "refused":
      return failed(`${who} could not begin: ${wordRefusal(end.result)}`);
    case "aborted":
    case "passed-over":
    case "worked":
      return failed(`${who} ended without a result.`);
  }
}

function wordRefusal(result: Extract<CoderEnd, { kind: "refused" }>["result"]): string {
  if (result.about !== "refusal") return "";
  return result.why.kind === "refused" ? result.why.refusal.message : result.why.message;
}

function wordReturned(
  who: string,
  { proposal }: CoderEnding,
  { taken, merged, conflicts, failed, trouble }: ReturnedWork,
  held: readonly PatchCommand[],
): AgentOutcome {
  const lines = [
    `${who}: ${proposal.plan.trim().slice(0, WORDS_CHARS)}`,
    ...(trouble === "" ? [] : [`None of its work was used: ${trouble}`]),
    ...(taken.length === 0 && conflicts.length === 0 && failed.length === 0 && trouble === ""
      ? ["It changed no file."]
      : []),
    ...(taken.length === 0 ? [] : [`In your draft now: ${taken.join(", ")}`]),
    ...(merged.length === 0 ? [] : [`Merged with changes made meanwhile: ${merged.join(", ")}`]),
    ...(failed.length === 0
      ? []
      : [
          `Not used, because it failed when it was repeated on files that were saved meanwhile: ${failed.join("; ")}`,
        ]),
    ...(held.length === 0
      ? []
      : [
          `Not run, because it affects other systems; propose it yourself: ${held.map(({ target }) => target).join("; ")}`,
        ]),
    ...(conflicts.length === 0 ? [] : [wordReturnConflicts(conflicts, CONFLICT_CHARS)]),
  ];
  const end = conflicts.length > 0 || failed.length > 0 || trouble !== "" ? "failed" : "done";
  return { end, files: taken.length, text: lines.join("\n") };
}
