import { agentOf, type CoderRole } from "../../domain/chat/agents.ts";
import { type ChecksFacts, toChecksRecord } from "../../domain/checks/findings.ts";
import {
  type ChosenBy,
  type CoderCandidateFacts,
  provesFix,
  rankCoderCandidates,
} from "../../domain/coder/proposal.ts";
import { countLines } from "../../domain/patch/compare-lines.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import type { CoderEnding } from "../ports/coder.ts";
import type { Draft } from "../ports/jobs-draft.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import { answerForCoder, answerWithCode, type CoderRunResult, runCoder } from "./answer-with-code.ts";
import type { CandidateMode } from "./chat-commands.ts";
import {
  type AgentDeps,
  type Answer,
  type ChatTurn,
  type CoderDeps,
  type JobDeps,
  mergeAnswers,
} from "./chat-turn.ts";
import { say } from "./reply-words.ts";
import { type CodeRequest, runCoderCandidates, type SharedBench, shareBaseline } from "./run-candidates.ts";

export interface CandidatesRequest extends CodeRequest {
  readonly mode: CandidateMode;
}

const CODERS: readonly CoderRole[] = ["coder1", "coder2", "coder3"];

interface CandidateEnding {
  readonly ending: CoderEnding;
  readonly checked: ChecksFacts | null;
}

/** Runs several coders on one message, each in its own draft without network; the best draft lands, and the reply describes the others. */
export async function answerWithCandidates(
  deps: CoderDeps,
  turn: ChatTurn,
  request: CandidatesRequest,
): Promise<Answer> {
  const roles = candidateRoles(deps, turn, request);
  const isNext = request.mode === "next";
  if (roles.length < 2) {
    const [role = request.role] = roles;
    const alone = await answerWithCode(deps, turn, { ...request, role });
    return isNext ? alone : { ...alone, said: [...alone.said, say("headsAlone")] };
  }
  const desk = deps.steering.open(turn.sessionKey);
  const steering = shareDesk(desk.take, roles);
  const contest = createDraftContest(deps);
  // Without an overlay each draft is a copy of the workspace: then one coder works at a time.
  const atOnce = !isNext && deps.workspace.staging.kind === "overlay";
  const time = { leftMs: deps.settings.coder.maxMinutes * 60_000 };
  const ends = await runCoderCandidates<CoderRole, CandidateEnding, CoderRunResult>({
    candidates: roles,
    atOnce,
    shouldContinue: (came) => !turn.signal.aborted && (!isNext || isRed(came)),
    run: (role, chosen) =>
      runCoder(deps, candidateTurn(turn, role), {
        role,
        text: request.text,
        planOnly: false,
        steering: steering(role),
        chosen: (ending, checked) => chosen({ ending, checked }),
        beside: contest.beside(role),
        ...(!atOnce && { time }),
      }),
    choose: (waiting) => Promise.resolve(turn.signal.aborted ? null : contest.choose(waiting)),
  }).finally(desk.close);
  return wordCandidates(deps, turn, ends, contest.result());
}

/** The routed coder first, then the others that can be asked. Without drafts, only the first. */
function candidateRoles(
  deps: AgentDeps,
  turn: ChatTurn,
  { role, mode }: CandidatesRequest,
): readonly CoderRole[] {
  if (turn.dryRun || deps.workspace.staging.kind === "none") return [role];
  const most = mode === "candidates" ? deps.settings.coder.candidates : CODERS.length;
  const order = [role, ...(deps.settings.measured?.order ?? []), ...CODERS];
  return [...new Set(order)].filter(deps.canAsk).slice(0, most);
}

function isRed(
  came: { kind: "waits"; ending: CandidateEnding } | { kind: "ended"; end: CoderRunResult },
): boolean {
  if (came.kind === "waits") return came.ending.ending.red !== null;
  const { end } = came.end;
  return end.kind === "unusable" || (end.kind === "said" && end.isExplained === false);
}

/** Notices about one of several candidates start with its name, and its proposals carry it. */
function candidateTurn(turn: ChatTurn, role: CoderRole): ChatTurn {
  const agent = agentOf(role);
  return {
    ...turn,
    emit(event) {
      if (event.type === "proposed") turn.emit({ ...event, agent });
      else if (event.type !== "notice") turn.emit(event);
      else
        turn.emit({
          ...event,
          text: `${agent}: ${event.text}`,
          texts: inEveryLanguage((locale) => `${agent}: ${event.texts?.[locale] ?? event.text}`),
        });
    },
  };
}

/** The user's messages during the work reach every coder, at its own next round. */
function shareDesk(take: () => readonly string[], roles: readonly CoderRole[]) {
  const desks = new Map(roles.map((role) => [role, [] as string[]]));
  return (role: CoderRole) => () => {
    const said = take();
    for (const desk of desks.values()) desk.push(...said);
    return desks.get(role)?.splice(0) ?? [];
  };
}

interface CandidatesResult {
  readonly facts: ReadonlyMap<CoderRole, CoderCandidateFacts>;
  readonly taken: CoderRole | null;
  readonly by: ChosenBy;
}

function createDraftContest({ workspace }: JobDeps) {
  const measure = shareBaseline();
  const drafts = new Map<CoderRole, Draft>();
  let result: CandidatesResult = { facts: new Map(), taken: null, by: "only" };

  function beside(role: CoderRole): SharedBench {
    const openDraft: Workspace["openDraft"] = async (request) => {
      const opened = await workspace.openDraft(request);
      if (opened.ok) drafts.set(role, opened.draft);
      return opened;
    };
    return { openDraft, measure };
  }

  function choose(waiting: ReadonlyMap<CoderRole, CandidateEnding>): CoderRole | null {
    const judged = [...waiting].map(([role, ended]) => ({
      role,
      ...toCandidateFacts(workspace.mask, role, ended, drafts.get(role)),
    }));
    const { ranked, by } = rankCoderCandidates(judged);
    const taken = ranked[0]?.role ?? null;
    result = { facts: new Map(judged.map(({ role, ...facts }) => [role, facts])), taken, by };
    return taken;
  }
  return { beside, choose, result: () => result };
}

function toCandidateFacts(
  mask: (text: string) => string,
  role: CoderRole,
  { ending: { proposal, red, attempts }, checked }: CandidateEnding,
  draft: Draft | undefined,
): CoderCandidateFacts {
  const counts = (draft?.diff() ?? []).map(({ before, after }) =>
    before === undefined || after === undefined ? null : countLines(before, after),
  );
  const checks = checked && toChecksRecord(checked);
  return {
    agent: agentOf(role),
    outcome: red?.kind ?? "green",
    words: firstLine(mask(proposal.plan)),
    attempts,
    files: draft?.changes().length ?? 0,
    size: counts.reduce((sum, one) => sum + (one === null ? 1 : one.added + one.removed), 0),
    provesFix: provesFix(checks),
    checks,
  };
}

const LINE_CHARS = 200;

function firstLine(text: string): string {
  return (text.trim().split("\n")[0] ?? "").slice(0, LINE_CHARS);
}

async function wordCandidates(
  deps: AgentDeps,
  turn: ChatTurn,
  ends: ReadonlyMap<CoderRole, CoderRunResult>,
  { facts, taken, by }: CandidatesResult,
): Promise<Answer> {
  const winner = taken === null ? undefined : ends.get(taken);
  const chosen = taken === null ? undefined : facts.get(taken);
  if (winner === undefined || chosen === undefined) {
    const ended = [...ends.values()];
    const shown = turn.signal.aborted ? ended.slice(0, 1) : ended;
    const answers = await Promise.all(shown.map((one) => answerForCoder(deps, turn, one)));
    // They are alternatives: one answer is enough.
    return { ...mergeAnswers([], answers, () => []), ok: answers.some(({ ok }) => ok) };
  }
  const others = [...ends].flatMap(([role, ended]) =>
    role === taken ? [] : [facts.get(role) ?? withoutDraft(deps, ended)],
  );
  const answer = await answerForCoder(deps, turn, winner);
  return { ...answer, said: [...answer.said, say("heads", { chosen, by, others })] };
}

function withoutDraft({ workspace, messages }: JobDeps, { role, end }: CoderRunResult): CoderCandidateFacts {
  const words =
    end.kind === "unanswered"
      ? end.text[messages.locale]
      : "text" in end
        ? end.text
        : "why" in end
          ? end.why
          : "";
  return {
    agent: agentOf(role),
    outcome: end.kind === "said" ? "said" : "none",
    words: firstLine(workspace.mask(words)),
    attempts: 0,
    files: 0,
    size: 0,
    provesFix: false,
    checks: null,
  };
}
