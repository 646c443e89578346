/**
 * Type checkers and linters over a judged draft: those that the project's scripts, CI or hooks call. In: a judgement by tests, or why
 * there is none. Out: the same with what each tool found; errors that the old code does not have make it worse.
 * Invariant: an old error holds no change back, and a tool that cannot run says why and decides nothing.
 */
import {
  type CheckBeside,
  findingsByCode,
  type NewErrors,
  type WhyNotRun,
  withFound,
} from "../../domain/checks/findings.ts";
import type { ProjectCheck } from "../../domain/checks/runners/check-runner.ts";
import {
  findNewErrors,
  lacksPackages,
  readToolErrors,
  type ToolCall,
  type ToolError,
  toolLine,
} from "../../domain/checks/tool-errors.ts";
import { checkRunState } from "../../domain/checks/verdict.ts";
import type { CheckRun } from "../ports/jobs-draft.ts";
import type { RunDraftChecks } from "./affected.ts";
import type { SourceJudgeDeps } from "./judge-by-sources.ts";
import { createDraftCheck, type DraftJudgement, type JudgedDraft } from "./judge-draft.ts";

/** Where no check judged for one of these reasons, a tool would not run or has nothing to judge. */
const NOT_ASKED = /^(?:never|documentation|no-change|untrusted|unavailable|aborted)$/;
const GREEN = /^(?:same|better)$/;
const RED = /^(?:worse|still-red|new-failing)$/;

interface RanTool {
  readonly call: ToolCall;
  readonly run: CheckRun;
  readonly errors: readonly ToolError[];
}

/** The tools of one job. */
export function createToolJudge(deps: SourceJudgeDeps) {
  const { settings, checks, sources } = deps;
  const limit = Math.min(settings.timeout, Math.max(settings.auto_limit, 1));
  let found: Promise<readonly ToolCall[]> | null = null;
  const slow = new Set<string>();
  const lint = checks.filter(({ kind }) => kind === "lint").map(({ command }) => command);

  async function findCalls(): Promise<readonly ToolCall[]> {
    if (sources === undefined || settings.command !== null) return [];
    const { files, parsers } = sources;
    const { findTools } = await import("./find-sources.ts");
    return findTools(files, lint, parsers);
  }

  async function runAll(
    check: RunDraftChecks,
    tools: readonly (readonly [ToolCall, string])[],
    old: readonly string[],
  ) {
    const which = tools.map(([{ command }, line]): ProjectCheck => ({ kind: "lint", command, line }));
    const more = { timeoutSeconds: limit, isExact: true, network: false };
    const ran =
      which.length === 0 ? null : await check(which, old.length > 0 ? { ...more, asBefore: old } : more);
    return (ran?.ok === true ? ran.runs : []).flatMap((run, at): RanTool[] => {
      const whole = run.directory === undefined ? run.whole : run.whole.replaceAll(`${run.directory}/`, "");
      const call = tools[at]?.[0];
      return call === undefined ? [] : [{ call, run: { ...run, whole }, errors: readToolErrors(whole) }];
    });
  }

  /** Judges one tool by its runs over the draft and the old code. */
  function compare(
    now: RanTool,
    before: RanTool | undefined,
    draft: JudgedDraft,
  ): CheckBeside & { readonly fresh: readonly string[] } {
    const { command } = now.call;
    const unable = (why: WhyNotRun) => ({ command, state: "cannot-run" as const, why, fresh: [] });
    const state = stateOf(now.run);
    if (state === "green") return { command, state, fresh: [] };
    if (state === "timed-out") return { command, state: "not-run", why: "slow", fresh: [] };
    if (state === "cannot-run") return unable(now.run.exitCode === 127 ? "not-installed" : "cannot-run");
    const old = before === undefined ? "green" : stateOf(before.run);
    if (old !== "green" && old !== "red") return unable(old === "timed-out" ? "slow" : "cannot-run");
    if (lacksPackages([...(before?.errors ?? []), ...now.errors])) return unable("no-packages");
    const paths = (kind: string) => draft.changes().flatMap((one) => (one.kind === kind ? [one.path] : []));
    const change = { added: paths("added"), deleted: paths("deleted") };
    const fresh = findNewErrors(before?.errors ?? [], now.errors, change).map(({ text }) => text);
    // Without an error that can be read, only a tool that was green before shows anything.
    if (now.errors.length === 0) {
      if (old === "red" || before === undefined) return unable("cannot-run");
      const last = now.run.whole.trim().split("\n").at(-1) ?? "";
      return { command, state: "red", fresh: [last.trim()] };
    }
    return { command, state: "red", errors: now.errors.length - fresh.length, fresh };
  }

  return {
    async judge(draft: JudgedDraft, attempt: number, own: DraftJudgement): Promise<DraftJudgement> {
      const { facts } = own;
      if (NOT_ASKED.test(facts.notChecked ?? "") || settings.enabled === "never") return own;
      found ??= deps.advise("types and linters", [], findCalls);
      const calls = await found;
      if (calls.length === 0) return own;
      const { beside = [] } = findingsByCode(facts);
      const changes = draft.changes();
      const names = sources?.files.list("") ?? [];
      const linesFor = (is: (kind: string) => boolean) => {
        const paths = changes.flatMap(({ path, kind }) => (is(kind) ? [path] : []));
        return calls.flatMap((call) => {
          const line = toolLine(call, paths, names);
          return line === null ? [] : [[call, line] as const];
        });
      };
      // A deleted file changes what a whole project says, and cannot be given to a tool.
      const all = linesFor(() => true).map(([call]) => call);
      const here = linesFor((kind) => kind !== "deleted");
      const isSeen = ({ tool, text }: ToolCall) =>
        isCovered(tool, own, checks) ||
        (lint.includes(text) &&
          GREEN.test(facts.verdict) &&
          beside.every(({ command, state }) => command !== text || state === "green"));
      const asked = all.filter((call) => !isSeen(call));
      const skip = (which: readonly ToolCall[], why: WhyNotRun): CheckBeside[] =>
        which.map(({ command }) => ({ command, state: "not-run", why }));
      if (RED.test(facts.verdict)) return withBeside(own, skip(asked, "tests-red"), asked, checks);
      const late = asked.filter(({ command }) => slow.has(command));
      const tools = here.filter(([call]) => asked.includes(call) && !late.includes(call));
      const check = createDraftCheck(deps, draft, { attempt, fresh: false, home: { isWhole: false } });
      const now = await runAll(check, tools, []);
      const red = now.filter(({ run }) => stateOf(run) === "red");
      const before = linesFor((kind) => kind !== "added").filter(([call]) =>
        red.some((one) => one.call === call),
      );
      const old = await runAll(
        check,
        before,
        changes.map(({ path }) => path),
      );
      const ended = now.map((one) =>
        compare(
          one,
          old.find(({ call }) => call === one.call),
          draft,
        ),
      );
      for (const { command, why } of ended) if (why === "slow") slow.add(command);
      const judged = withBeside(
        own,
        [...ended.map(({ fresh: _, ...one }) => one), ...skip(late, "slow")],
        asked,
        checks,
      );
      const newErrors = ended.flatMap(({ command, fresh }): NewErrors[] =>
        fresh.length === 0 ? [] : [{ command, errors: fresh }],
      );
      if (newErrors.length === 0) return judged;
      const { results: _, ...rest } = judged;
      const worse = { ...judged.facts, verdict: "worse" as const, notChecked: null };
      return { ...rest, facts: withFound(worse, { newErrors }) };
    },
  };
}

function stateOf({ outcome, exitCode, whole }: CheckRun) {
  if (outcome === "timed-out") return "timed-out";
  return outcome === "not-started" ? "cannot-run" : checkRunState(exitCode, whole);
}

/** Whether the check that judged runs the tool itself and was green. */
function isCovered(tool: string, { facts }: DraftJudgement, checks: readonly ProjectCheck[]): boolean {
  const { rungs, affectedOnly, sourced } = findingsByCode(facts);
  if (
    !GREEN.test(facts.verdict) ||
    rungs !== undefined ||
    affectedOnly !== undefined ||
    sourced !== undefined
  )
    return false;
  return checks.some(({ kind, script = "" }) => kind === "test" && new RegExp(`\\b${tool}\\b`).test(script));
}

const programOf = (command: string) => command.split(" ", 1)[0] ?? "";

/** With what became of the tools, in the place of the declared linter that calls them. */
function withBeside(
  own: DraftJudgement,
  more: readonly CheckBeside[],
  calls: readonly ToolCall[],
  checks: readonly ProjectCheck[],
): DraftJudgement {
  if (more.length === 0) return own;
  const { beside = [] } = findingsByCode(own.facts);
  // A declared linter whose program is missing is the same fact as its tool that is not installed.
  const missing = more.flatMap(({ command, why }) => (why === "not-installed" ? [programOf(command)] : []));
  const scriptOf = (command: string) => checks.find((one) => one.command === command)?.script ?? command;
  const isMissing = ({ command, state }: CheckBeside) =>
    state === "cannot-run" &&
    scriptOf(command)
      .split(/\s+/)
      .some((word) => missing.includes(word));
  const kept = beside.filter((one) => !calls.some(({ text }) => text === one.command) && !isMissing(one));
  return { ...own, facts: withFound(own.facts, { beside: [...kept, ...more] }) };
}
