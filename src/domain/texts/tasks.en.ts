import type { CandidateFacts } from "../tasks/rank-candidates.ts";
import type { Verdict } from "../checks/verdict.ts";
import type { TestCounts } from "../checks/test-results.ts";
import { figuresText, type ShownFigures } from "../tasks/figures-text.ts";
import type { Locale } from "./locale.ts";
import { nameFew } from "./name-few.ts";
import { checksTexts as checks } from "./checks.en.ts";

const more = (rest: number) => `… and ${rest} more`;

const FAILURES: Readonly<Record<string, (detail: string) => string>> = {
  forge: (detail) => `The forge did not do what was asked: ${detail}`,
  "forge-token": (detail) =>
    `The forge refused the token (${detail}). Check whether it is set, expired or revoked (GITHUB_PERSONAL_ACCESS_TOKEN, GITLAB_PERSONAL_ACCESS_TOKEN), and whether it may read and write this repository's contents, issues and pull requests.`,
  "forge-missing": (detail) =>
    `The forge knows no such repository or item, or hides it from this token (${detail}). Check the address, and whether the token may see the repository; a private one is "not found" to others.`,
  container: (detail) => `The environment could not be made: ${detail}`,
  clone: (detail) => `The repository could not be cloned: ${detail}`,
  "wrong-base": (detail) =>
    `The environment says that it stands on a commit which is not the branch's (${detail}). Nothing was pushed. Code of the project may have changed that; look at what its installation runs.`,
  model: (detail) => `The model did not answer: ${detail}`,
  "too-many-steps": (detail) =>
    `Not finished within ${detail} steps. Split the task, or raise \`tasks.max_steps\`.`,
  "gave-up": (detail) => `The model stopped without finishing: ${detail}`,
  "nothing-changed": (reason) =>
    `Nothing had to be changed, so there is no pull request.${reason === "" ? "" : ` The model says: ${reason}`}`,
  "nothing-changed-red": (detail) => {
    const [commands = "", ...reason] = detail.split("\n");
    const said = reason.length === 0 ? "The model gives no reason." : `The model says: ${reason.join("\n")}`;
    return `Nothing was changed, and the checks are red: ${commands}. ${said}`;
  },
  "checks-red": (commands) =>
    `The checks are still red after the last repair: ${commands}. The change is published for a person to look at; it closes nothing.`,
  "checks-not-run": (commands) =>
    `The checks could not be run in this environment: ${commands}. The change is published for a person to look at; it closes nothing.`,
  "protected-paths": (detail) =>
    `The change touches files that PicoClaw must not change (${detail}). Change them yourself, or allow it with \`tasks.allow_ci_files: true\`.`,
  budget: (detail) =>
    `Today's budget is spent (${detail}). Raise \`budget.daily\`, or run \`picoclaw solve\` with this address tomorrow: it goes on from here.`,
  stuck: (detail) => `The model made the same call again and again, and it failed each time: ${detail}`,
  cut: () =>
    "The model's answers were cut at their longest again and again. Raise `max_tokens` of the coder's model, or ask for less at a time.",
  "secret-in-change": (detail) =>
    `The change holds a secret of this configuration (${detail}). Nothing was pushed; take it out and try again.`,
  "protected-branch": (detail) => `The branch is protected and cannot be pushed to: ${detail}`,
  "no-permission": (detail) =>
    `The token may not push to this repository. Give it write access to contents. ${detail}`,
  declined: (detail) => `The forge declined the push: ${detail}`,
  "push-failed": (detail) => `The change could not be pushed: ${detail}`,
  archived: () => "This repository is archived; nothing can be changed in it.",
  closed: () => "This is closed already.",
  stopped: () => "Stopped, as asked. Nothing was pushed after that.",
  "given-up": (detail) => `PicoClaw itself ended ${detail} times over this task, so it was given up.`,
  lost: () => "Another PicoClaw took this task over.",
};

function candidateWords({ failure, checks: ran, patchBytes }: CandidateFacts): string {
  if (failure !== null) return `not finished (${failure})`;
  if (patchBytes === 0) return "changed nothing";
  const red = ran.filter((exitCode) => exitCode !== 0).length;
  if (ran.length === 0) return "not checked";
  return red === 0 ? "checks green" : `${red} of ${ran.length} checks red`;
}

export const solveTexts = {
  locale: "en" as Locale,
  // The progress comment
  working: (title: string) => `PicoClaw is working on “${title}”`,
  ended: {
    done: "PicoClaw is done",
    failed: "PicoClaw could not finish",
    stopped: "PicoClaw stopped",
    paused: "PicoClaw paused",
  },
  phases: {
    gather: "read the task",
    plan: "plan",
    prepare: "prepare the environment",
    work: "work",
    verify: "verify",
    publish: "publish",
  },
  steps: (done: number, max: number) => `step ${done} of at most ${max}`,
  figures: (figures: ShownFigures) => figuresText(figures, "tokens"),
  editedSoFar: (paths: readonly string[]) => `Edited: ${nameFew(paths, more)}`,
  saidLast: (words: string) => `> ${words}`,
  lastAction: (command: string, exitCode: number) => `Last command: ${command} (exit code ${exitCode})`,
  howToStop: "Comment `stop` or `pause` to halt this. Other comments are taken into account.",
  howToResume: (url: string) =>
    `To go on: \`picoclaw solve ${url}\`, or, where \`picoclaw serve\` listens to this repository, the comment \`resume\`.`,
  pullOpened: (url: string) => `Result: ${url}`,
  takenIntoAccount: (count: number) => `${count} new comment(s) taken into account`,
  // The PR/MR
  pullTitle: (title: string) => title,
  summaryHeading: "Summary",
  planHeading: "Plan",
  commandsHeading: "Commands run",
  whyHeading: "Why",
  why: (number: number, title: string) => `For #${number}: ${title}`,
  checksHeading: "How it was checked",
  costHeading: "Cost",
  howToAsk:
    "To ask for changes, comment on a line or write below; PicoClaw follows up on this branch when `picoclaw serve` listens, else with `picoclaw solve` of this address.",
  verdicts: {
    red: "The checks are red: this is a draft, and it closes nothing.",
    "not-run": "The checks could not be run: this is a draft, and it closes nothing.",
    unchecked: "Not checked: the project has no tests or linters that PicoClaw recognises.",
  },
  since: (verdict: Verdict, worse: readonly string[]) => {
    if (worse.length > 0) return `Did not fail before this change: ${nameFew(worse, more)}.`;
    const asBefore = verdict === "red-before" || verdict === "better" || verdict === "unknown";
    if (!asBefore) return "Did not fail before this change.";
    return verdict === "unknown"
      ? "It was red before this change as well; which tests is not known."
      : "It was red before this change as well, by the same tests.";
  },
  notesHeading: "Notes",
  noChecks: "The project has no tests or linters that PicoClaw recognises.",
  checkLine: (command: string, exitCode: number, seconds: string, tests: TestCounts | null) =>
    `${exitCode === 0 ? "✅" : "❌"} ${command} (exit code ${exitCode}, ${tests === null ? "" : `${checks.counts(tests)}, `}${seconds} s)`,
  tableHead: ["command", "result", "time"] as readonly [command: string, result: string, time: string],
  more: (count: number) => `… and ${count} more`,
  footer: "Made by PicoClaw. Every word above about commands and checks comes from their records.",
  followUpMessage: "Follow up on the review",
  reviewChangedHere: (commit: string) => `Changed at this place in ${commit}.`,
  reviewChangedElsewhere: (commit: string) =>
    `This file was changed in ${commit}, but nothing near this line.`,
  reviewChanged: (commit: string) => `This file was changed in ${commit}.`,
  reviewUnchanged: "This file was not changed.",
  // Notes
  baseMoved: "The base branch moved meanwhile; the change was brought onto its tip.",
  baseConflicts: "The base branch moved meanwhile and conflicts with the change; please resolve it.",
  ciLeftOut: (paths: readonly string[]) =>
    `Not part of this change, because the forge's machines run it: ${nameFew(paths, more)}. To allow it, set \`tasks.allow_ci_files: true\`.`,
  toolsLeftOut: (paths: readonly string[]) => `Left out, as tools made it: ${nameFew(paths, more)}`,
  installWarning: (text: string) => `Dependencies: ${text}`,
  // Ends, each one helpful sentence
  failure: (kind: string, detail: string) => (FAILURES[kind] ?? ((text: string) => text))(detail),
  patchInstead:
    "PicoClaw may not push to the source of this pull request. The change as a patch, for `git apply`:",
  patchTooLarge:
    "PicoClaw may not push to the source of this pull request, and the patch is too large for a comment or cannot be shown in one.",
  /** Which candidate was kept, and what became of the others. */
  candidates: (kept: number, all: readonly CandidateFacts[]) =>
    `Of ${all.length} candidates, number ${kept} was kept. ${all
      .map((one, i) => `${i + 1}: ${candidateWords(one)}`)
      .join("; ")}.`,
  badCandidates: "--candidates is a whole number from 1 to 5",
  // The terminal
  alreadyRunning: (url: string) => `Already being worked on: ${url}`,
  notAnItem: (url: string) => `Not the address of an issue, PR or MR: ${url}`,
  noToken: (forge: string, variable: string) => `No token for ${forge}. Set ${variable}.`,
  unknownWorker: (kind: string, known: readonly string[]) =>
    `There is no worker ${kind}; there are ${known.join(", ")}`,
  started: (url: string) => `Working on ${url}`,
  resumed: (url: string) => `Going on with ${url}`,
};
