import { agentOf, type CoderRole, FEW_FILES, mayDelegate } from "../../domain/chat/agents.ts";
import { type ChecksFacts, notChecked, toChecksRecord } from "../../domain/checks/findings.ts";
import { isSmallModel } from "../../domain/coder/answer-form.ts";
import { hasFlag } from "../../domain/coder/proposal.ts";
import { affectedFiles } from "../../domain/drafts/check-edits.ts";
import { type JobResult, type RanJob, toKeptStatus } from "../../domain/jobs/result.ts";
import { countLines, type LineCounts } from "../../domain/patch/compare-lines.ts";
import { ownMember } from "../../domain/platform/json-members.ts";
import { type ChatMessages, chatMessagesFor } from "../../domain/texts/chat.ts";
import { type ChecksState, checksMessagesFor } from "../../domain/texts/checks.ts";
import { oneLine } from "../../domain/texts/format-text.ts";
import { type ResultJson, toResultJson, wordError } from "../../domain/texts/jobs-report.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { type FoundChecks, openChecks, recallChecks } from "../checks/baseline.ts";
import {
  createProjectChecks,
  factsWithoutChecks,
  NOTHING_KNOWN,
  readChecksState,
  recallKnown,
  wordStateForCoder,
} from "../checks/project-checks.ts";
import { type Bench, createDraftBench, createPlainBench } from "../coder/bench.ts";
import { pathsNamedIn } from "../coder/coder-context.ts";
import { type CoderEvent, type CoderLook, coderLoop } from "../coder/coder-loop.ts";
import {
  createCoderLooks,
  createExplorer,
  DELEGATE_TOOL,
  type Delegation,
  showAsked,
  wishOf,
} from "../coder/explorer.ts";
import { createShownFiles, type ShownFiles } from "../drafts/shown-files.ts";
import { actionsFor } from "../jobs/action-report.ts";
import type { ToolResult } from "../models/tool-loop.ts";
import type { Reply } from "../ports/chat.ts";
import type { CheckMemory, CheckProgress, CheckRecord } from "../ports/checks.ts";
import type { CoderEnd, SentBackReason } from "../ports/coder.ts";
import type { JobEvent } from "../ports/jobs.ts";
import type { StartedBy } from "../ports/jobs-transaction.ts";
import type { AnswerOutcome, Model, ModelFailure, ToolCall } from "../ports/models.ts";
import { LOG } from "../ports/platform.ts";
import {
  type AgentDeps,
  type Answer,
  type ChatDeps,
  type ChatTurn,
  type CoderDeps,
  createAnswer,
  createLabelledAction,
  createNotice,
  type JobDeps,
  toReplyModel,
  toUsedFigures,
} from "./chat-turn.ts";
import { createCoderTalk, createSkills } from "./coder-talk.ts";
import { createLineOutput } from "./held-output.ts";
import { type CoderFacts, type ReplyPiece, say, sayNames, toReplyFacts } from "./reply-words.ts";
import type { CodeRequest, CoderRun, SharedBench } from "./run-candidates.ts";

interface BenchRequest {
  readonly request: string;
  readonly judged: boolean;
  /** The draft is opened at once, over the current files. Default: when it is needed. */
  readonly atOnce?: boolean;
  readonly shown: ShownFiles;
  /** Default: `model`. */
  readonly startedBy?: StartedBy;
  /** Whether its coder may be asked for a command that judges: a small model copies the question. Default: a model's. */
  readonly mayAsk?: boolean;
  readonly beside?: SharedBench | undefined;
}

/** Where a message's proposals run. `state`: the checks so far; null if nothing will be judged. */
export async function openBench(
  deps: CoderDeps,
  turn: ChatTurn,
  {
    request,
    judged,
    atOnce = false,
    shown,
    startedBy = "model",
    mayAsk = startedBy === "model",
    beside,
  }: BenchRequest,
) {
  const { workspace, project, projectOf } = deps;
  const { groupId, sessionKey, signal, preview } = turn;
  const watch = watchCommands(deps, turn);
  const about = { request, groupId, sessionKey, source: `chat:${turn.message.channel}`, startedBy };
  const { settings, memory, hasProgram, sourceParsers } = deps.checks;
  const now = () => deps.now().getTime();
  const isJudged = judged && !turn.dryRun;
  const found = isJudged ? openChecks({ files: workspace.files, settings, memory, now, hasProgram }) : null;
  const none = found?.ok === false ? factsWithoutChecks(found) : undefined;
  if (turn.dryRun || workspace.staging.kind === "none") {
    const bench = createPlainBench({
      files: project,
      execute: ({ proposal: { patch, plan }, parsed }) =>
        workspace.execute({ ...about, ...watch, patch, parsed, plan, dryRun: turn.dryRun, preview, signal }),
    });
    // The checks need a draft, which does not exist here.
    const facts = isJudged ? (none ?? notChecked("unavailable")) : null;
    return { bench, checks: [], state: null, known: NOTHING_KNOWN, checked: () => facts };
  }
  const judge =
    found !== null && none?.notChecked !== "never"
      ? createProjectChecks({
          checks: found.ok ? found.checks : [],
          ...(found.ok && { missing: found.missing }),
          ...(none !== undefined && { none }),
          install: found.install,
          settings,
          memory,
          texts: checksMessagesFor(deps.messages.locale),
          hasProgram,
          mayAsk,
          ...(sourceParsers !== undefined && {
            sources: { files: workspace.files, request, parsers: sourceParsers },
          }),
          now,
          advise: deps.advise,
          signal,
          named: (paths) => pathsNamedIn(request, paths),
          onOutput: watch.onOutput,
          onProgress: (progress) => reportCheckProgress(deps, turn, progress),
          ...(beside?.measure !== undefined && { measure: beside.measure }),
        })
      : null;
  const bench = createDraftBench({
    workspace: {
      root: workspace.root,
      files: beside?.files ?? workspace.files,
      archive: workspace.archive,
      openDraft: beside?.openDraft ?? workspace.openDraft,
    },
    shown,
    since: now(),
    request: { ...about, onStart: watch.onStart, signal, network: !preview && beside === undefined },
    filesOf: projectOf,
    checks: judge,
    reachesOutward: deps.reachesOutward,
    runSeconds: deps.settings.coder.maxMinutes * 60,
    onOutput: watch.onOutput,
    onEvent: watch.onEvent,
  });
  await bench.begin({ always: atOnce });
  return {
    bench,
    checks: found?.ok === true ? found.checks.map(({ command }) => command) : [],
    state: found === null ? null : readChecksState(found, recallAsItStands(memory, found)),
    known: found === null ? NOTHING_KNOWN : recallKnown(found, memory),
    checked: () => judge?.facts() ?? none ?? null,
  };
}

function recallAsItStands(memory: CheckMemory, found: FoundChecks): CheckRecord | null {
  const record = found.ok ? recallChecks(memory, found.checks) : null;
  return record?.results != null && record.fingerprint === memory.fingerprint() ? record : null;
}

function reportCheckProgress(deps: AgentDeps, turn: ChatTurn, progress: CheckProgress): void {
  const detail = checksMessagesFor(deps.messages.locale).progress(progress);
  turn.emit({
    type: "progress",
    attempt: progress.attempt,
    of: deps.settings.coder.attempts,
    doing: "checking",
    detail: deps.workspace.mask(oneLine(detail)).slice(0, MOST_DETAIL),
    ...toUsedFigures(turn.models.used()),
  });
}

const MOST_DETAIL = 200;

function watchCommands({ workspace }: JobDeps, turn: ChatTurn) {
  let jobId = "";
  const output = createLineOutput((text) =>
    turn.emit({ type: "job-output", jobId, text: workspace.mask(text) }),
  );
  return {
    onStart: (id: string) => {
      jobId = id;
      turn.emit({ type: "job-started", jobId });
    },
    onEvent: (event: JobEvent) => {
      if (event.type === "command_finished") output.end();
      if (event.type !== "command_started") return;
      const { type, action, target } = event.command;
      const command = workspace.mask(`${type} ${action} ${oneLine(target)}`);
      turn.emit({ type: "job-command", jobId, index: event.index + 1, command });
    },
    onOutput: output.add,
  };
}

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

/** A coder's work as the chat reports it: the executor's facts, and the attempts before. */
export function reportWork(
  { messages, chat, workspace }: JobDeps,
  turn: Pick<ChatTurn, "models">,
  { end, checked }: EndedCoder,
): JobReport {
  const way = end.kind === "worked" ? toCoderFacts(workspace.mask, turn, end, checked) : null;
  const pieces: ReplyPiece[] = way === null ? [] : [{ kind: "coder", facts: way }];
  if (end.result === null) return { said: pieces, ok: false, actions: [] };
  const facts = end.result;
  if (facts.about === "refusal") return { said: [{ kind: "refusal", facts }], ok: false, actions: [] };
  const plan = end.kind === "worked" ? workspace.mask(wholePlan(end)) : "";
  const isHigh = end.kind === "worked" && end.proposal.risk === "high";
  const job = facts.status === "preview" ? { ...facts, status: toKeptStatus(way?.red) } : facts;
  return {
    said: [
      {
        kind: "job",
        facts: toReplyFacts(withLineCounts(workspace, job)),
        plan,
        ...(isHigh && { risk: "high" }),
        ...(way?.checks !== undefined && { checks: way.checks }),
      },
      ...pieces,
    ],
    ok: job.success && way?.red === undefined,
    job: toResultJson(messages, job),
    actions: actionsFor(workspace.archive, job.jobId, chat.actions),
  };
}

/** Each attempt changes the draft of the one before it, so the plans are joined in their order. */
function wholePlan({ proposal, story }: Extract<CoderEnd, { kind: "worked" }>): string {
  const plans = [...story.tried, proposal.plan].map((plan) => plan.trim());
  const distinct = plans.filter((plan, at) => plan !== "" && plans.indexOf(plan) === at);
  return distinct.map((plan, at) => (at === 0 ? plan : `→ ${plan.replace(/^[-*] /, "")}`)).join("\n");
}

function toCoderFacts(
  mask: (text: string) => string,
  { models }: Pick<ChatTurn, "models">,
  { result, story }: Extract<CoderEnd, { kind: "worked" }>,
  checked: ChecksFacts | null,
): CoderFacts {
  const { attempts, best, red, stopped, tried, words } = story;
  const isReported = hasChanged(result) || red?.kind === "still-red";
  return {
    attempts,
    ...(best !== undefined && { best }),
    ...(red !== null && { red: red.kind, brief: mask(red.brief) }),
    ...(stopped !== null && { stopped }),
    tried: tried.map((plan) => mask(plan.trim().split("\n")[0] ?? "")),
    words: mask(words),
    costUsd: models.used().costUsd,
    ...(checked !== null && isReported && { checks: toChecksRecord(checked) }),
    isDropped: result === null,
  };
}

function hasChanged(result: JobResult | null): boolean {
  if (result?.about !== "job") return result === null;
  return result.changes.length > 0 && result.outcome !== "dry-run";
}

/** Files whose lines are counted; a longer list is not useful to a reader. */
const MOST_COUNTED = 30;

function withLineCounts({ archive }: Pick<ChatDeps["workspace"], "archive">, facts: RanJob): RanJob {
  if (facts.dryRun || facts.changes.length === 0 || facts.changes.length > MOST_COUNTED) return facts;
  const lineCounts: Record<string, LineCounts> = {};
  for (const { path, before, after } of archive.differences(facts.jobId)) {
    const counts = before === undefined || after === undefined ? null : countLines(before, after);
    if (counts !== null) lineCounts[path] = counts;
  }
  return { ...facts, lineCounts };
}

/** Characters of files that a coder is shown with a report. */
const SHOWN_AGAIN = 24_000;

/** Characters that one lookup by a tool shows. */
const LOOK_CHARS = 16_000;

/** A coder route: proposals run at once in a draft until it is green, and land as one job; the answer is its facts. */
export async function answerWithCode(deps: CoderDeps, turn: ChatTurn, request: CodeRequest): Promise<Answer> {
  const desk = deps.steering.open(turn.sessionKey);
  const ended = await runCoder(deps, turn, { ...request, steering: desk.take }).finally(desk.close);
  return answerForCoder(deps, turn, ended);
}

export async function runCoder(
  given: CoderDeps,
  turn: ChatTurn,
  { role, text, planOnly, steering, chosen, handOver, beside, time, isSubAgent = false }: CoderRun,
): Promise<CoderRunResult> {
  const asked = turn.models.models.forRole(role);
  const deps = isSmall(asked) ? withLocalTries(given) : given;
  const { settings, workspace } = deps;
  const shownFiles = createShownFiles();
  const [{ bench, checks, state, known, checked }, outside] = await Promise.all([
    openBench(deps, turn, {
      request: isSubAgent ? text : (turn.asked ?? text),
      judged: !planOnly && !isSubAgent,
      atOnce: !planOnly && isSubAgent,
      shown: shownFiles,
      mayAsk: !isSmall(asked),
      beside,
    }),
    isSubAgent ? null : openOutside(deps, turn, role, text),
  ]);
  const { attempts, explore, onRed } = settings.coder;
  const { tryOut } = bench;
  const skills = createSkills(deps.ownCommands);
  const seenRules = new Set<string>();
  const explorer = createExplorer({
    project: () => skills.beside(bench.files()),
    seenRules,
    request: text,
    limit: LOOK_CHARS,
    mask: workspace.mask,
    ...(tryOut !== undefined && { run: tryOut }),
    // Candidates get no sub-agents: a user could not follow the reports of so many agents.
    ...(beside === undefined &&
      settings.coder.subAgents > 0 &&
      mayDelegate(text, bench.files().list(FEW_FILES + 1).length) && {
        delegate: openDelegation(deps, turn, { role, bench, planOnly }),
      }),
    beside: outside,
  });
  const looks = createCoderLooks({
    explorer,
    rounds: explore,
    tell(calls) {
      // Sub-agents report their own steps.
      const reported = calls.filter(({ name }) => name !== DELEGATE_TOOL);
      for (const [how, same] of Map.groupBy(reported, ({ name }) => ownMember(LOOKS, name) ?? "call"))
        reportCoderEvent(deps, turn, { type: "asks", how, wanted: same.map(wordCall) }, checks);
    },
  });
  const talk = createCoderTalk(deps, turn, {
    ...{ role, request: text, planOnly, isSubAgent, looks, skills, shownFiles, seenRules, time },
    checks: state === null ? "" : wordStateForCoder(state, known),
    areTestsGreen:
      state !== null &&
      state.checks.length > 0 &&
      state.checks.every(({ result }) => result?.state === "green"),
  });
  const tell = tellCoderEvents(deps, turn, { bench, checks, state, nameCoder: () => nameAsked(turn, role) });
  const end = await coderLoop({
    coder: {
      ...{ kind: "model", ask: talk.ask, request: text, parses: deps.parsesSource },
      isFree: () => isLocal(talk.model() ?? asked),
      isSmall: () => isSmall(talk.model() ?? asked),
    },
    bench,
    show: (files, asked) =>
      showAsked(skills.beside(files), asked, { request: text, limit: talk.budget().files }),
    limits: { attempts, explore, onRed, shownChars: SHOWN_AGAIN },
    planOnly,
    preview: turn.preview,
    steering,
    ...(chosen !== undefined && {
      chosen: (ending) => chosen(ending, checked(), bench.heldCommands?.() ?? []),
    }),
    ...(handOver !== undefined && {
      handOver: (ending, contested) => handOver(ending, contested, bench.heldCommands?.() ?? []),
    }),
    signal: turn.signal,
    tell(event) {
      const outcome = outcomeOf(event);
      if (outcome !== null) void talk.note(outcome);
      tell(event);
    },
    mask: workspace.mask,
    advise: deps.advise,
  }).finally(() => outside?.close());
  if (end.kind === "worked" && end.story.red === null) await talk.note("green");
  const [called, touchedProcesses] = [outside?.called() ?? [], outside?.touchedProcesses?.() ?? []];
  return { role, text, end, talk, checked: checked(), called, touchedProcesses };
}

const isLocal = (model: Model | ModelFailure) => "local" in model && model.local;
/** A script answers in its order, so its exchange is one conversation. */
const isSmall = (model: Model | ModelFailure) =>
  "local" in model && model.isScripted !== true && isSmallModel(model);

/** A small model's tries cost time alone, so it has more of them. */
function withLocalTries(deps: CoderDeps): CoderDeps {
  const { coder } = deps.settings;
  return { ...deps, settings: { ...deps.settings, coder: { ...coder, attempts: coder.localAttempts } } };
}

/** The form of the last answer, as an event shows it; null if it shows nothing. */
function outcomeOf(event: CoderEvent): AnswerOutcome | null {
  if (event.type === "proposed") return "read";
  if (event.type !== "sent-back" || event.reason === undefined) return null;
  return event.reason.kind === "endless" ? "endless" : "unread";
}

/** The coder's sub-agents; their code is loaded when the first is called. */
function openDelegation(
  deps: CoderDeps,
  turn: ChatTurn,
  coder: { readonly role: CoderRole; readonly bench: Bench; readonly planOnly: boolean },
): (asked: Delegation) => Promise<ToolResult> {
  let agents: Promise<(asked: Delegation) => Promise<ToolResult>> | null = null;
  return async (asked) => {
    agents ??= import("./coder-agents.ts").then(({ createCoderAgents }) =>
      createCoderAgents({ chat: deps, turn, ...coder, run: runCoder }),
    );
    return (await agents)(asked);
  };
}

/** The tools of MCP servers, and `process` if the request is about running programs; without either, nothing is loaded. */
async function openOutside(deps: CoderDeps, turn: ChatTurn, role: CoderRole, text: string) {
  const hasServers = (turn.message.editorServers ?? []).length > 0 || deps.namesServers();
  if (!hasServers && !ABOUT_PROCESSES.test(text)) return null;
  const model = turn.models.models.forRole(role);
  if (!("generate" in model)) return null;
  const { openCoderTools, withProcessTool } = await import("./coder-tools.ts");
  const tools = hasServers ? await openCoderTools(deps, turn, model) : null;
  return ABOUT_PROCESSES.test(text) ? withProcessTool(deps, turn, model, tools) : tools;
}

/** A tool that is rarely needed is not in every request. */
const ABOUT_PROCESSES =
  /\b(?:servers?|watch(?:er|es|ing)?|process(?:es)?|background|localhost|ports?|database|daemon)\b|サーバー?|プロセス|バックグラウンド|ポート|データベース|監視|起動/iu;

function nameAsked({ models }: ChatTurn, role: CoderRole): string {
  const model = models.models.forRole(role);
  return "generate" in model ? `${agentOf(role)} (${model.provider}/${model.model})` : agentOf(role);
}

/** A step of a coder for the journal: other processes show it, and `why` and `compare` read which coder worked. */
function toDoingEvent(
  { models }: ChatTurn,
  { attempt, doing }: Extract<CoderEvent, { type: "doing" }>,
  { nameCoder, checks }: Pick<CoderReport, "nameCoder" | "checks">,
): JobEvent {
  const detail = doing === "asking" ? nameCoder() : doing === "checking" ? checks.join(", ") : "";
  const { tokens, costUsd } = toUsedFigures(models.used());
  return { type: "doing", attempt, doing, detail, tokens, cost_usd: costUsd };
}

/** A lookup as shown to the observer: the tool and its arguments. */
const LOOKS: Readonly<Record<string, CoderLook>> = {
  read_file: "read",
  tree: "read",
  search: "search",
  run: "run",
};

/** Without the tool's name if the kind of lookup implies it. */
function wordCall({ name, arguments: given }: ToolCall): string {
  const wish = name === "read_file" ? wishOf(given) : "";
  if (wish !== "") return oneLine(wish).slice(0, 100);
  const all = typeof given === "object" && given !== null ? Object.values(given) : [];
  // Numbers, such as lines of context, are left out: they mean nothing to users.
  const values = all.filter((value) => typeof value === "string");
  const isSaid = ownMember(LOOKS, name) !== undefined && values.length > 0;
  return oneLine([...(isSaid ? [] : [name]), ...values].join(" ")).slice(0, 100);
}

export interface CoderRunResult {
  readonly role: CoderRole;
  readonly text: string;
  readonly end: CoderEnd;
  readonly talk: { model(): Pick<Model, "provider" | "model" | "local"> | undefined };
  readonly checked: ChecksFacts | null;
  readonly called?: readonly string[];
  readonly touchedProcesses?: readonly string[];
}

/** The answer to the user for a coder's end. It names calls of MCP servers, which no undo covers. */
export async function answerForCoder(
  deps: AgentDeps,
  turn: ChatTurn,
  result: CoderRunResult,
): Promise<Answer> {
  const answer = await answerForEnd(deps, turn, result);
  const { called = [], touchedProcesses = [] } = result;
  const names = [...sayNames("mcpCalled", called), ...sayNames("processesTouched", touchedProcesses)];
  return { ...answer, said: [...answer.said, ...names] };
}

async function answerForEnd(
  deps: AgentDeps,
  turn: ChatTurn,
  { role, text, end, talk, checked }: CoderRunResult,
): Promise<Answer> {
  const by = talk.model();
  const about = {
    agent: agentOf(role),
    ...(by !== undefined && { model: toReplyModel(by) }),
  };
  const { mask } = deps.workspace;
  switch (end.kind) {
    case "said": {
      const words = { kind: "text", text: mask(end.text) } as const;
      const { reason, isExplained } = end;
      // A model may claim work that it did not do; in a review or a preview it promises none.
      if (turn.preview && reason === undefined) return { ...createAnswer([words], true), ...about };
      const unchanged =
        isExplained === false
          ? say("unexplained")
          : reason === undefined
            ? say("nothingChanged")
            : say("unchangedBecause", mask(reason));
      const left = (end.skipped ?? []).map(({ text }) => mask(text));
      const said = [
        ...(isExplained === undefined ? [words, unchanged] : [unchanged, words]),
        ...(left.length === 0 ? [] : [say("answerSkipped", left)]),
      ];
      return { ...createAnswer(said, isExplained !== false), ...about };
    }
    case "planned": {
      const said = [{ kind: "text", text: mask(end.plan) } as const, say("planHint")];
      const actions = [createLabelledAction(deps, (chat) => chat.goLabel, "go")];
      return { ...createAnswer(said, true), ...about, actions };
    }
    case "unanswered": {
      const why = { kind: "worded", texts: end.text } as const;
      const { claimed } = end;
      const said =
        claimed === undefined
          ? [why]
          : [say("unexplained"), { kind: "text", text: mask(claimed) } as const, why];
      return { ...createAnswer(said, false), ...about };
    }
    case "unusable":
      logUnparsed(deps, turn, end.reason);
      return { ...createAnswer([sayUnusable(end, mask)], false), ...about };
    case "aborted":
    case "passed-over":
      return { ...createAnswer([say("aborted")], false), ...about };
    case "refused":
    case "worked": {
      const report = reportWork(deps, turn, { end, checked });
      const { said, ok, job, actions } = report;
      if (job !== undefined) turn.emit({ type: "job-finished", jobId: job.job_id, success: ok });
      const jobs = job === undefined ? [] : [job];
      const done = { ...createAnswer(said, ok), ...about, jobs, actions };
      if (!ok || end.kind !== "worked" || turn.dryRun || turn.preview) return done;
      if (!hasFlag(end.proposal, "uses_browser")) return done;
      const { browse } = await import("./answer-with-tools.ts");
      return browse(deps, turn, { request: text, proposal: end.proposal, done });
    }
  }
}

/** Words the state of the checks before the coder is asked; empty if it is only known that they will run. */
function wordKnownState(locale: Locale, state: ChecksState | null): string {
  if (state === null || (state.none === null && state.checks.every(({ result }) => result === null)))
    return "";
  return oneLine(checksMessagesFor(locale).state(state)).slice(0, MOST_DETAIL);
}

export function tellCoderEvents(
  deps: AgentDeps,
  turn: ChatTurn,
  report: CoderReport,
): (event: CoderEvent) => void {
  return (event) => {
    if (event.type === "doing") report.bench.journal?.(toDoingEvent(turn, event, report));
    reportCoderEvent(deps, turn, event, report.checks, report.state);
  };
}

interface CoderReport {
  readonly bench: Pick<Bench, "journal">;
  readonly checks: readonly string[];
  readonly state?: ChecksState | null;
  /** `Ao (provider/model)`, or an agent of the user's own. */
  readonly nameCoder: () => string;
}

/** No user approves a job, so the log states the commands before they run. */
function reportCoderEvent(
  deps: AgentDeps,
  turn: ChatTurn,
  event: CoderEvent,
  checks: readonly string[],
  state: ChecksState | null = null,
): void {
  const { workspace, logger, settings, messages } = deps;
  const { mask } = workspace;
  const notice = (word: (chat: ChatMessages) => string, step?: Parameters<typeof createNotice>[2]) =>
    turn.emit(createNotice(deps, word, step));
  switch (event.type) {
    case "asks": {
      const { how } = event;
      const wanted = event.wanted.map(mask);
      notice((chat) => chat.looks[how](wanted), { kind: how, detail: wanted.join("  ") });
      return;
    }
    case "sent-back": {
      const brief = wordError(messages, mask(event.brief));
      const { reason } = event;
      const wordBrief = (chat: ChatMessages) =>
        reason?.kind === "doubts"
          ? mask(chat.doubts(reason.doubts))
          : reason?.kind === "skipped"
            ? mask(chat.answerSkipped(reason.parts.map(({ text }) => text)))
            : reason === undefined
              ? brief
              : reason.kind === "endless"
                ? chat.endlessBrief
                : chat.unreadableBrief;
      logUnparsed(deps, turn, reason);
      const detail = wordBrief(chatMessagesFor(messages.locale));
      notice((chat) => chat.sentBack(event.attempt, event.of, wordBrief(chat)), {
        kind: "retry",
        detail,
      });
      return;
    }
    case "doing": {
      const { attempt, doing } = event;
      const of = settings.coder.attempts;
      const used = toUsedFigures(turn.models.used());
      const known = doing === "asking" && attempt === 1 ? wordKnownState(messages.locale, state) : "";
      const detail = doing === "checking" ? checks.join(", ") : mask(known);
      if (doing !== "checking" || detail !== "")
        turn.emit({ type: "progress", attempt, of, doing, detail, ...used });
      return;
    }
    case "contested": {
      const paths = event.paths.map(mask);
      notice((chat) => chat.contested(paths, event.jobs));
      return;
    }
    case "steered":
      notice((chat) => chat.steered);
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

/** Why no proposal could be carried out, worded for the user instead of the coder. */
function sayUnusable(
  { why, reason }: Extract<CoderEnd, { kind: "unusable" }>,
  mask: (text: string) => string,
): ReplyPiece {
  switch (reason?.kind) {
    case "doubts":
      return say(
        "proposalDoubted",
        reason.doubts.map((doubt) =>
          doubt.kind === "elision" || doubt.kind === "mark" ? { ...doubt, line: mask(doubt.line) } : doubt,
        ),
      );
    case "unparsed":
      return say("patchUnreadable", mask(reason.failure.message), reason.failure.line ?? null);
    case "unread":
      return say("patchUnreadable", "", null);
    case "skipped":
      return say(
        "proposalSkipped",
        reason.parts.map(({ text }) => mask(text)),
      );
    case "endless":
    case undefined:
      return say("proposalUnusable", mask(why));
  }
}

/** A patch that cannot be read is logged as an error, for every coder. */
function logUnparsed(
  { logger, workspace }: AgentDeps,
  { groupId }: ChatTurn,
  reason: SentBackReason | undefined,
): void {
  if (reason?.kind !== "unparsed") return;
  const error = workspace.mask(reason.failure.message);
  logger.error("worker", ...LOG.executionError, { job_id: groupId, error });
}
