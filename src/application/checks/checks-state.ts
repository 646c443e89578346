import type { ProjectCheck } from "../../domain/checks/find-checks.ts";
import { type ChecksFacts, notChecked, withFound } from "../../domain/checks/findings.ts";
import { type CheckResult, isUnable, judgesBaseline, type KnownCheck } from "../../domain/checks/verdict.ts";
import { type ChecksState, checksMessagesFor } from "../../domain/texts/checks.ts";
import type { CheckRecord } from "../ports/checks.ts";
import type { FoundChecks } from "./baseline.ts";

/** `record`: of the current workspace; null if the checks have not run over it. */
export function readChecksState(found: FoundChecks, record: CheckRecord | null): ChecksState {
  if (!found.ok) return { checks: [], none: factsWithoutChecks(found) };
  const results = record?.results ?? null;
  if (results?.some(judgesBaseline) === false) return { checks: [], none: factsOfUnable(found, results) };
  const seconds = record !== null && results?.length === 1 ? Math.round(record.durationMs / 1000) : null;
  const judging: readonly KnownCheck[] =
    results
      ?.filter(judgesBaseline)
      .map((result) => ({ command: result.command, result, ...(seconds !== null && { seconds }) })) ??
    found.checks.map(({ command }) => ({ command, result: null }));
  return { checks: [...judging, ...found.missing.map(toUnableCheck)], none: null };
}

/** A check that is known without a run to be unable to run here. */
function toUnableCheck(command: string): KnownCheck {
  return { command, result: { kind: "lint", command, state: "cannot-run", results: null } };
}

/** The facts of a change that nothing judges. */
export function factsWithoutChecks({
  why,
  commands,
  absent,
  install,
}: Extract<FoundChecks, { ok: false }>): ChecksFacts {
  return withFound(notChecked(why, commands), { absent, ...(install !== null && { install }) });
}

function factsOfUnable(
  { checks, install }: { readonly checks: readonly ProjectCheck[]; readonly install: string | null },
  results: readonly CheckResult[],
): ChecksFacts {
  const absent = [...new Set(results.flatMap(({ absent: program }) => program ?? []))];
  const isRed = results.some((result) => result.state === "red" && !isUnable(result));
  return factsWithoutChecks({
    ok: false,
    why: isRed ? "red-before" : "cannot-run",
    commands: checks.map(({ command }) => command),
    absent,
    install,
  });
}

/** How a coder declares what it knows about tests. Facts and these declarations decide verdicts; the request's words do not. */
export function wordDeclarations(where: "the plan" | "your last message"): string {
  return `Declare what you know about tests in ${where}, one per line; NAME is a test, its file or a command: \`Fixes: NAME\` (red, and your change fixes it), \`Not mine: NAME: reason\` (red for another reason), \`Removes: NAME\`, \`Meant to fail: NAME: reason\` (a new test), \`Changes checks: FILE: reason\` (FILE decides how tests run, or what a red test expects).`;
}

/** The state for the coder, as sentences that follow others; empty where there is nothing to say. */
export function wordStateForCoder(state: ChecksState): string {
  const texts = checksMessagesFor("en");
  if (state.none?.notChecked === "never") return "";
  const quote = (command: string) => `\`${command}\``;
  if (state.none !== null) {
    const none = { ...state.none, commands: state.none.commands.map(quote) };
    // The usual words name a setting that only a person can change.
    const why =
      none.notChecked === "no-checks"
        ? "No tests of the project were found"
        : texts.state({ ...state, none });
    return `${why}. If one command line tests this here, write it alone in a section ## Check.`;
  }
  // A full stop right behind `go test ./...` would read as a part of it.
  const checks = state.checks.map((check) => ({ ...check, command: quote(check.command) }));
  return `PicoClaw runs these after the patch, so do not run them: ${texts.state({ ...state, checks })}. ${wordDeclarations("the plan")}`;
}
