import type { ChosenBy, CoderCandidateFacts, CoderCandidatesFacts } from "../../coder/proposal.ts";
import { checksMessagesFor } from "../checks.ts";
import { many } from "../format-text.ts";

const checks = checksMessagesFor("en");

/** What a coder is at work on, and the usage of the message so far. */
export interface CoderProgress {
  readonly attempt: number;
  readonly of: number;
  readonly doing: "asking" | "running" | "checking";
  /** The checks that run, or what is known of them before. */
  readonly detail: string;
  readonly tokens: number;
  readonly costUsd: number;
}

/** The current activity of a coder, in one line, for the terminal and the console. */
export const coderProgress = ({ attempt, of, doing, detail, tokens, costUsd }: CoderProgress): string => {
  const what = {
    asking: `asking the coder${detail === "" ? "" : ` · ${detail}`}`,
    running: "running it",
    checking: `checking: ${detail}`,
  }[doing];
  const cost = costUsd > 0 ? ` · $${costUsd.toFixed(4)}` : "";
  return `Try ${attempt} of ${of} · ${what} · ${tokens} tokens${cost}`;
};

const BY: Readonly<Record<ChosenBy, string>> = {
  only: "the only one with a draft",
  checks: "best by the checks",
  test: "its new test fails on the old code",
  size: "the smallest change",
  first: "the results are equal; the first one",
};

const OUTCOMES: Readonly<Record<CoderCandidateFacts["outcome"], string>> = {
  green: "nothing fails",
  failing: "still failing",
  worse: "checks got worse",
  unended: "checks did not end",
  conflict: "others changed the same lines",
  hook: "a hook refused it",
  "new-failing": "new tests fail",
  "still-red": "still red",
  said: "answered in words",
  none: "no usable proposal",
};

function wordUnchosen({ agent, outcome, words, ...draft }: CoderCandidateFacts): string {
  const size = `${many(draft.files, "file")}, ${many(draft.size, "line")}`;
  const judged = draft.checks === null ? [] : [checks.line(draft.checks)];
  const hasDraft = outcome !== "said" && outcome !== "none";
  const facts = hasDraft ? [size, many(draft.attempts, "attempt"), ...judged] : [];
  return `* ${agent}: ${[OUTCOMES[outcome], ...facts].join(" · ")}${words === "" ? "" : `: ${words}`}`;
}

/** The chosen coder of several, and the results of the others. */
export const wordCandidates = ({ chosen, by, others }: CoderCandidatesFacts): string =>
  [
    `Coders: ${[chosen, ...others].map(({ agent }) => agent).join(", ")}. Chosen: ${chosen.agent} (${BY[by]}).`,
    ...(others.length === 0 ? [] : ["Not chosen, discarded:", ...others.map(wordUnchosen)]),
  ].join("\n");

/** A sub-agent as every surface tells of it. */
export interface AgentFacts {
  /** Counts from 1 within the job. */
  readonly number: number;
  readonly task: string;
  readonly writes: boolean;
  readonly state: "working" | "done" | "failed" | "stopped";
  /** Its latest step; empty before the first. */
  readonly doing: string;
  /** Files of its work that were taken in. */
  readonly files: number;
}

export function coderAgent({ number, task, writes, state, doing, files }: AgentFacts): string {
  const who = `sub-agent ${number}`;
  return {
    working: `${who}: ${task}${doing === "" ? "" : ` · ${doing}`}`,
    done: `${who} is done${writes ? ` (${many(files, "file")})` : ""}: ${task}`,
    failed: `${who} failed: ${task}`,
    stopped: `${who} was stopped: ${task}`,
  }[state];
}
