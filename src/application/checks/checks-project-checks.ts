import type { ChecksMessages } from "../../domain/texts/texts.ts";
import type { ChecksFacts } from "../../domain/checks/checks-facts.ts";
import type { Verdict } from "../../domain/checks/verdict.ts";
import { isKnownCheck } from "../../domain/checks/known-check.ts";
import type { ProjectCheck } from "../../domain/checks/project-check.ts";
import type { CheckMemory } from "../ports/checks.ts";
import type { Draft } from "../jobs/draft.ts";
import { type Baseline, measureBaseline } from "./baseline.ts";
import type { CheckSettings } from "./check-settings.ts";
import { type DraftJudgement, judgeDraft } from "./project-checks.ts";
import { wordChecks } from "./word-checks.ts";

export interface ProjectChecksDeps {
  /** Of `openChecks`. */
  readonly checks: readonly ProjectCheck[];
  readonly settings: CheckSettings;
  readonly memory: CheckMemory;
  readonly texts: ChecksMessages;
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly onOutput?: (text: string) => void;
  /** How the baseline is measured; several drafts of one message share it. */
  readonly measure?: typeof measureBaseline;
}

export interface JudgedAttempt {
  /** `unknown`: nobody can say, which the facts explain. */
  readonly verdict: "green" | "red" | "unknown";
  /** For the coder; empty where nothing is red. */
  readonly report: string;
  /** For whoever watches: `3 of 426 fail`. */
  readonly brief: string;
  readonly facts: ChecksFacts;
}

/** The project's checks as the judge of one draft. */
export interface ProjectChecks {
  readonly timeoutSeconds: number;
  /** Starts to measure the baseline, while the coder is being asked. */
  begin(draft: Draft): void;
  /** What the draft has now. Where the workspace changed meanwhile, the baseline is measured anew. */
  judge(draft: Draft, attempt: number): Promise<JudgedAttempt>;
  /** Before a commit: the last judgement, or a new one where the workspace changed since. */
  confirm(draft: Draft, attempt: number): Promise<JudgedAttempt>;
  /** Of the last judgement; null before the first. */
  facts(): ChecksFacts | null;
  /** Whether a command only checks: what it writes must not become part of the change. */
  isCheck(command: string): boolean;
}

export function createProjectChecks(parts: ProjectChecksDeps): ProjectChecks {
  const { checks, settings, memory, texts } = parts;
  let measured: Promise<Baseline> | null = null;
  let last: JudgedAttempt | null = null;
  let sentBack = false;

  function baselineOf(draft: Draft): Promise<Baseline> {
    if (measured === null) {
      measured = (parts.measure ?? measureBaseline)(parts, draft);
      // A draft that ends before anybody asks for its baseline ends that, too.
      measured.catch(() => {});
    }
    return measured;
  }
  async function freshBaseline(draft: Draft): Promise<Baseline> {
    const baseline = await baselineOf(draft);
    if (!baseline.ok || baseline.fingerprint === memory.fingerprint()) return baseline;
    measured = null;
    return baselineOf(draft);
  }
  async function judge(draft: Draft, attempt: number): Promise<JudgedAttempt> {
    const judged = await judgeDraft({ ...parts, baseline: () => freshBaseline(draft) }, draft, attempt);
    const verdict = shortChecksLine(judged, sentBack);
    // New tests that fail are sent back once: to write a failing test may be just what was asked for.
    if (judged.facts.verdict === "new-failing") sentBack = true;
    last = {
      verdict,
      report: verdict === "red" ? wordChecks(judged.facts, judged.runs, checks) : "",
      brief: texts.brief(judged.facts),
      facts: judged.facts,
    };
    return last;
  }
  return {
    timeoutSeconds: settings.timeout,
    begin: (draft) => void baselineOf(draft),
    judge,
    async confirm(draft, attempt) {
      const baseline = await baselineOf(draft);
      const isFresh = !baseline.ok || baseline.fingerprint === memory.fingerprint();
      return last !== null && isFresh ? last : judge(draft, attempt);
    },
    facts: () => last?.facts ?? null,
    isCheck: (command) => isKnownCheck(command, checks),
  };
}

function shortChecksLine({ facts }: DraftJudgement, sentBack: boolean): JudgedAttempt["verdict"] {
  const short: Readonly<Record<Verdict, JudgedAttempt["verdict"]>> = {
    same: "green",
    better: "green",
    "red-before": "green",
    worse: "red",
    "new-failing": sentBack ? "green" : "red",
    unknown: "unknown",
    "not-checked": "unknown",
  };
  return short[facts.verdict];
}
