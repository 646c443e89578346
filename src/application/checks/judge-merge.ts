import { checksMessagesFor } from "../../domain/texts/checks.ts";
import { inEveryLanguage, type WordsByLocale } from "../../domain/texts/worded.ts";
import { createAdvise } from "../platform/advise.ts";
import { type OpenChecksDeps, openChecks } from "./baseline.ts";
import type { JudgedDraft } from "./judge-draft.ts";
import { createProjectChecks, factsWithoutChecks } from "./project-checks.ts";

/** Compares the project's checks over a merged workspace with those over the current one, and words the result. */
export async function judgeMerge(
  deps: OpenChecksDeps,
  draft: JudgedDraft,
  signal: AbortSignal,
): Promise<WordsByLocale> {
  const found = openChecks(deps);
  const judge = (opened: Extract<typeof found, { ok: true }>) =>
    createProjectChecks({
      checks: opened.checks,
      install: opened.install,
      settings: deps.settings,
      memory: deps.memory,
      texts: checksMessagesFor("en"),
      now: deps.now,
      advise: createAdvise(),
      signal,
    }).judge(draft, 1);
  const facts = found.ok ? (await judge(found)).facts : factsWithoutChecks(found);
  return inEveryLanguage((locale) => {
    const texts = checksMessagesFor(locale);
    return [texts.line(facts), ...texts.remarks(facts)].join("\n");
  });
}
