import type { ChecksFacts } from "../../domain/checks/verdict.ts";
import { checksMessagesFor } from "../../domain/texts/checks.ts";
import { inEveryLanguage, type WordsByLocale } from "../../domain/texts/worded.ts";
import { createAdvise } from "../platform/advise.ts";
import { type OpenChecksDeps, openChecks } from "./baseline.ts";
import { factsWithoutChecks } from "./checks-state.ts";
import type { JudgedDraft } from "./judge-draft.ts";
import { createProjectChecks } from "./project-checks.ts";

/** Compares the project's checks over a merged workspace with those over the current one, and words the result. */
export async function judgeMerge(
  deps: OpenChecksDeps,
  draft: JudgedDraft,
  signal: AbortSignal,
): Promise<WordsByLocale> {
  const facts = await judgeOnce(deps, draft, signal);
  return inEveryLanguage((locale) => {
    const texts = checksMessagesFor(locale);
    return [texts.line(facts), ...texts.remarks(facts)].join("\n");
  });
}

async function judgeOnce(
  deps: OpenChecksDeps,
  draft: JudgedDraft,
  signal: AbortSignal,
): Promise<ChecksFacts> {
  const found = openChecks(deps);
  if (!found.ok) return factsWithoutChecks(found);
  const checks = createProjectChecks({
    checks: found.checks,
    install: found.install,
    settings: deps.settings,
    memory: deps.memory,
    texts: checksMessagesFor("en"),
    now: deps.now,
    advise: createAdvise(),
    signal,
  });
  return (await checks.judge(draft, 1)).facts;
}
