import type { ChecksFacts } from "../../domain/checks/checks-facts.ts";
import { toKeptStatus } from "../../domain/jobs/job-status.ts";
import { countLines, type LineCounts } from "../../domain/patch/line-counts.ts";
import type { Reply } from "../ports/conversation.ts";
import type { CoderEnd } from "../coder/coder-end.ts";
import { actionsFor } from "../jobs/present-actions.ts";
import type { CoderFacts } from "./coder-facts.ts";
import { executionFacts, type JobFacts } from "../jobs/job-facts.ts";
import { type ReplyPiece, toReplyFacts } from "./reply-words.ts";
import { type ResultJson, toResultJson } from "../jobs/result-json.ts";
import type { ChatDeps } from "./chat-turn.ts";
import type { ChatTurn } from "./turn.ts";

interface EndedCoder {
  readonly end: Extract<CoderEnd, { kind: "worked" | "refused" }>;
  readonly checked: ChecksFacts | null;
}

export interface JobReport {
  readonly said: readonly ReplyPiece[];
  readonly ok: boolean;
  readonly job?: ResultJson;
  readonly actions: Reply["actions"];
}

/** A coder's work as the chat tells it: the executor's facts, and the way there. */
export function reportWork(
  { messages, chat, workspace }: Pick<ChatDeps, "messages" | "chat" | "workspace">,
  turn: Pick<ChatTurn, "models">,
  { end, checked }: EndedCoder,
): JobReport {
  const way = end.kind === "worked" ? toCoderFacts(workspace.mask, turn, end, checked) : null;
  const told: ReplyPiece[] = way === null ? [] : [{ kind: "coder", facts: way }];
  if (end.execution === null) return { said: told, ok: false, actions: [] };
  const facts = executionFacts(workspace.root, end.execution);
  if (facts.about === "refusal") return { said: [{ kind: "refusal", facts }], ok: false, actions: [] };
  const plan = end.kind === "worked" ? workspace.mask(end.proposal.plan.trim()) : "";
  const isHigh = end.kind === "worked" && end.proposal.risk === "high";
  const job = facts.status === "preview" ? { ...facts, status: toKeptStatus(way?.red) } : facts;
  return {
    said: [
      {
        kind: "job",
        facts: toReplyFacts(withLineCounts(workspace, job)),
        plan,
        ...(isHigh && { risk: "high" }),
      },
      ...told,
    ],
    ok: job.success && way?.red === undefined,
    job: toResultJson(messages, job),
    actions: actionsFor(workspace.archive, job.jobId, chat.actions),
  };
}

function toCoderFacts(
  mask: (text: string) => string,
  { models }: Pick<ChatTurn, "models">,
  { proposal, execution, story }: Extract<CoderEnd, { kind: "worked" }>,
  checked: ChecksFacts | null,
): CoderFacts {
  const { attempts, red, stopped, tried, words } = story;
  const { costUsd } = models.used();
  return {
    attempts,
    ...(red !== null && { red: red.kind, brief: mask(red.brief) }),
    ...(stopped !== null && { stopped }),
    tried: tried.map((plan) => mask(plan.trim().split("\n")[0] ?? "")),
    words: mask(words),
    costHint: mask(proposal.costHint),
    costUsd,
    ...(checked !== null && hasChanged(execution) && { checks: checked }),
    isDropped: execution === null,
  };
}

/** Of a job that changed nothing, nobody wonders how it was checked. */
function hasChanged(execution: Extract<CoderEnd, { kind: "worked" }>["execution"]): boolean {
  if (execution?.status !== "ran") return execution === null;
  return execution.result.changes.length > 0 && execution.outcome !== "dry-run";
}

/** Files whose lines are counted; more is a list that nobody reads. */
const MOST_COUNTED = 30;

function withLineCounts({ archive }: Pick<ChatDeps["workspace"], "archive">, facts: JobFacts): JobFacts {
  if (facts.dryRun || facts.changes.length === 0 || facts.changes.length > MOST_COUNTED) return facts;
  const lineCounts: Record<string, LineCounts> = {};
  for (const { path, before, after } of archive.differences(facts.jobId)) {
    const counts = before === undefined || after === undefined ? null : countLines(before, after);
    if (counts !== null) lineCounts[path] = counts;
  }
  return { ...facts, lineCounts };
}
