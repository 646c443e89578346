import { type ChecksRecord, notChecked, toChecksRecord } from "../../domain/checks/findings.ts";
import { failingOutput } from "../../domain/checks/read-results.ts";
import { checksMessagesFor } from "../../domain/texts/checks.ts";
import { checkResult, openChecks } from "../checks/baseline.ts";
import {
  createProjectChecks,
  type JudgedAttempt,
  type ProjectChecks,
  type ProjectChecksDeps,
} from "../checks/project-checks.ts";
import { type Bench, createDraftBench } from "../coder/bench.ts";
import { coderLoop, type HeadWorkResult } from "../coder/coder-loop.ts";
import { createShownFiles } from "../drafts/shown-files.ts";
import type { CoderEnd } from "../ports/coder.ts";
import type { CheckRun } from "../ports/jobs-draft.ts";
import type { CheckFact, TaskEnvironment } from "../ports/tasks.ts";
import { createTaskMemory } from "./container-environments.ts";
import type { NewsListener } from "./item-comments.ts";
import { keepChange, type SolveDeps, SolveStop, type SolveWork, stepsLeft } from "./solve-work.ts";
import { workByCli, workWithTools } from "./work-loop.ts";

const OUTPUT_CHARS = 4000;

/**
 * The coder's work on a task: the draft loop of every coder, with the task's clone as the draft. Landed or not, the change stays in
 * the clone; what is published is what was kept right before the judgement.
 */
export async function workInDraft(deps: SolveDeps, work: SolveWork, news: NewsListener): Promise<void> {
  const { config, mask } = deps;
  const { signal } = work;
  const judge = openJudge(deps, work);
  const bench = openCloneBench(deps, work, judge.checks);
  const end = await orContainerStop(deps, work, () =>
    coderLoop({
      coder: { kind: "head", work: (attempt, back) => takeTurn(deps, work, { attempt, back, news, bench }) },
      bench,
      show: () => "",
      limits: { attempts: config.attempts, explore: 0, onRed: "preview", shownChars: 0 },
      planOnly: false,
      preview: false,
      steering: () => [],
      signal,
      tell: (event) => {
        if (event.type !== "sent-back") return;
        const { attempt, of, brief } = event;
        work.say(`↩ ${brief}`);
        void work.note({ kind: "sent-back", attempt, of, brief }).catch(() => {});
      },
      mask,
      advise: deps.advise,
    }),
  );
  await keepJudgement(deps, work, { end, judge });
  work.judged = true;
}

interface Turn {
  readonly attempt: number;
  /** The loop's answer to the coder's last turn; null: nothing yet. */
  readonly back: string | null;
  readonly news: NewsListener;
  readonly bench: Bench;
}

const FINISH = 'Finish again with {"done": true, "summary": "…"}, covering everything you did.';

/** One turn of the coder. A change that was finished before is judged first, without asking a model. */
async function takeTurn(
  deps: SolveDeps,
  work: SolveWork,
  { attempt, back, news, bench }: Turn,
): Promise<HeadWorkResult> {
  if (back !== null) {
    const text = work.task.worker === null ? `${back}\n${FINISH}` : back;
    await work.update({ transcript: [...work.task.transcript, { role: "user", text }] });
  }
  // Repairs cost steps; without any the report names what is red.
  if (back !== null && stepsLeft(work.task, deps.config.maxSteps) <= 0)
    return nothingMore(work, bench, attempt);
  const isDone = back === null && work.worked;
  if (!isDone) await (work.task.worker === null ? workWithTools : workByCli)(deps, work, news);
  work.worked = false;
  const trouble = await keepChange(work, { exact: true });
  if (trouble !== null) throw new SolveStop("push-failed", deps.mask(trouble));
  return nothingMore(work, bench, attempt);
}

/** The draft takes the clone's files; its journal gets the attempt with the coder's words. */
async function nothingMore(work: SolveWork, bench: Bench, number: number): Promise<HeadWorkResult> {
  const { summary } = work.task;
  const proposal = { plan: summary, patch: "", risk: "low", costHint: "", flags: {} } as const;
  const parsed = { ok: true, commands: [], warnings: [], format: "empty" } as const;
  const carried = await bench.carryOut({ number, proposal, parsed, commands: [] });
  return carried.kind === "ran" ? { kind: "ran", summary, results: carried.results } : carried;
}

async function orContainerStop<T>({ mask }: SolveDeps, work: SolveWork, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof SolveStop) throw error;
    if (work.signal.aborted) throw new SolveStop("stopped");
    throw new SolveStop("container", mask(error instanceof Error ? error.message : String(error)));
  }
}

interface TaskJudge {
  readonly checks: ProjectChecks | null;
  readonly none: ChecksRecord | null;
  readonly found: ProjectChecksDeps["checks"];
  last(): JudgedAttempt | null;
}

function openJudge(deps: SolveDeps, work: SolveWork): TaskJudge {
  const { config, messages } = deps;
  const { workspace } = environmentOf(work);
  const { task, signal } = work;
  const settings = { ...config.checks, command: task.checkCommand ?? config.testCommand };
  const memory = createTaskMemory(task.id);
  const now = () => deps.now().getTime();
  const found = openChecks({ files: workspace.files, settings, memory, now });
  const texts = checksMessagesFor(messages.locale);
  let last: JudgedAttempt | null = null;
  if (!found.ok) {
    const none = toChecksRecord(notChecked(found.why, found.commands));
    return { checks: null, none, found: [], last: () => null };
  }
  const checks = createProjectChecks({
    checks: found.checks,
    settings,
    memory,
    texts,
    now,
    advise: deps.advise,
    signal,
    onProgress: (progress) => work.say(`$ ${texts.progress(progress)}`),
  });
  const kept = async (judged: Promise<JudgedAttempt>) => {
    last = await judged;
    return last;
  };
  return {
    checks: {
      ...checks,
      judge: (draft, attempt) => kept(checks.judge(draft, attempt)),
      confirm: (draft, attempt) => kept(checks.confirm(draft, attempt)),
    },
    none: null,
    found: found.checks,
    last: () => last,
  };
}

/** A draft of the clone. However it ends, the clone stays as it is: the task keeps the change, and its container is removed with it. */
function openCloneBench(deps: SolveDeps, work: SolveWork, checks: ProjectChecks | null): Bench {
  const { workspace, projectOf } = environmentOf(work);
  const bench = createDraftBench({
    workspace,
    shown: createShownFiles(),
    since: deps.now().getTime(),
    request: {
      source: "solve",
      startedBy: "model",
      request: work.task.title,
      groupId: work.task.id,
      sessionKey: `task:${work.task.id}`,
      signal: work.signal,
    },
    filesOf: projectOf,
    checks,
    reachesOutward: async () => false,
    onOutput: () => {},
    onEvent: () => {},
  });
  return { ...bench, drop: async () => {} };
}

function environmentOf(work: SolveWork): TaskEnvironment {
  return work.environment as TaskEnvironment;
}

/** The results of the checks, as the report, the pull request and the next run of the task find them. */
async function keepJudgement(
  deps: SolveDeps,
  work: SolveWork,
  { end, judge }: { readonly end: CoderEnd; readonly judge: TaskJudge },
): Promise<void> {
  if (work.signal.aborted || end.kind === "aborted") throw new SolveStop("stopped");
  if (end.kind === "refused") {
    const why = end.result.about === "refusal" ? end.result.why : null;
    throw new SolveStop("container", why?.kind === "refused" ? deps.mask(why.refusal.message) : "");
  }
  const judged = judge.last();
  const facts = judged === null ? judge.none : toChecksRecord(judged.facts);
  // Nothing was changed: the state of the project is all there is to say.
  const isUnchanged = end.kind === "said";
  const runs = isUnchanged ? await runUnchanged(deps, work, judge) : (judged?.runs ?? []);
  const checks = runs.flatMap((run) => toCheckFact(deps, judge, run, isUnchanged ? null : facts) ?? []);
  for (const { command, exitCode, durationMs, counts = null } of checks)
    await work.note({ kind: "checked", command, exitCode, durationMs, counts });
  await work.update({ checks, judged: isUnchanged ? null : facts });
  if (end.kind !== "worked") return;
  const { attempts, stopped, tried } = end.story;
  const verdict = facts?.verdict ?? null;
  await work.note({ kind: "judged", attempts, verdict, stopped: stopped?.why ?? null, tried });
}

async function runUnchanged(
  deps: SolveDeps,
  work: SolveWork,
  judge: TaskJudge,
): Promise<readonly CheckRun[]> {
  const { signal } = work;
  if (judge.found.length === 0) return [];
  const opened = await environmentOf(work).workspace.openDraft({
    source: "solve",
    startedBy: "check",
    checked: true,
    signal,
  });
  if (!opened.ok) throw new SolveStop("container", deps.mask(opened.refusal.message));
  const commands = judge.found.map(({ line }) => line);
  const timeoutSeconds = deps.config.checks.timeout;
  const checked = await opened.draft.check({ commands, over: "baseline", timeoutSeconds, signal });
  await opened.draft.discard("");
  if (signal.aborted) throw new SolveStop("stopped");
  return checked.ok ? checked.runs : [];
}

/** One check as a person reads it; null for a linter that is not installed, which says nothing about the change. */
function toCheckFact(
  { mask }: SolveDeps,
  judge: TaskJudge,
  run: CheckRun,
  facts: ChecksRecord | null,
): CheckFact | null {
  const check = judge.found.find(({ line }) => line === run.command) ?? {
    kind: "test",
    command: run.command,
    line: run.command,
  };
  const { kind, command } = check;
  const result = checkResult(check, run);
  const cause = facts?.cannotRun?.find((one) => one.command === command)?.cause;
  const absent = result.state === "cannot-run" || cause !== undefined;
  if (kind === "lint" && absent) return null;
  const exitCode = run.exitCode ?? -1;
  const isJudged = facts !== null && (exitCode !== 0 || (facts.verdict === "worse" && kind === "test"));
  const { onlyWith = [], worse = [], newFailing = [] }: Partial<ChecksRecord> = isJudged ? facts : {};
  return {
    kind,
    command,
    exitCode,
    absent,
    durationMs: run.durationMs,
    output: mask(failingOutput(run.whole, OUTPUT_CHARS).trim()),
    counts: result.results?.counts ?? null,
    ...(isJudged && { since: { verdict: facts.verdict, worse: [...worse, ...newFailing] } }),
    ...(onlyWith.length > 0 && { asCloned: onlyWith }),
    ...(cause !== undefined && { cause: mask(cause) }),
  };
}
