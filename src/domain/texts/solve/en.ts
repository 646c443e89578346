import type { SolveMessages } from "./messages.ts";

const FAILURES: Readonly<Record<string, (detail: string) => string>> = {
  forge: (detail) => `The forge did not do what was asked: ${detail}`,
  container: (detail) => `The environment could not be made: ${detail}`,
  clone: (detail) => `The repository could not be cloned: ${detail}`,
  model: (detail) => `The model did not answer: ${detail}`,
  "no-plan": (detail) =>
    `The model gave no usable plan (${detail}). Describe the task a little more and try again.`,
  "too-many-steps": (detail) =>
    `Not finished within ${detail} steps. Split the task, or raise \`tasks.max_steps\`.`,
  "gave-up": (detail) => `The model stopped without finishing: ${detail}`,
  "nothing-changed": () => "Nothing had to be changed, so there is no pull request.",
  "protected-paths": (detail) =>
    `The change touches files that PicoClaw must not change (${detail}). Change them yourself, or allow it in the configuration.`,
  "protected-branch": (detail) => `The branch is protected and cannot be pushed to: ${detail}`,
  "no-permission": (detail) =>
    `The token may not push to this repository. Give it write access to contents. ${detail}`,
  declined: (detail) => `The forge declined the push: ${detail}`,
  "push-failed": (detail) => `The change could not be pushed: ${detail}`,
  archived: () => "This repository is archived; nothing can be changed in it.",
  closed: () => "This is closed already.",
  stopped: () => "Stopped, as asked. Nothing was pushed after that.",
  "lost-lease": () => "Another PicoClaw took this task over.",
};

export const en: SolveMessages = {
  locale: "en",
  working: (title) => `PicoClaw is working on “${title}”`,
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
  steps: (done, max) => `step ${done} of at most ${max}`,
  lastAction: (command, exitCode) => `Last command: ${command} (exit code ${exitCode})`,
  howToStop: "Comment `stop` or `pause` to halt this. Other comments are taken into account.",
  howToResume: "Comment `resume` to go on.",
  pullOpened: (url) => `Result: ${url}`,
  takenIntoAccount: (count) => `${count} new comment(s) taken into account`,
  pullTitle: (title) => title,
  summaryHeading: "Summary",
  planHeading: "Plan",
  commandsHeading: "Commands run",
  checksHeading: "Checks",
  notesHeading: "Notes",
  noChecks: "The project has no tests or linters that PicoClaw recognises.",
  checkLine: (command, exitCode, seconds) =>
    `${exitCode === 0 ? "✅" : "❌"} ${command} (exit code ${exitCode}, ${seconds} s)`,
  tableHead: ["command", "result", "time"],
  more: (count) => `… and ${count} more`,
  footer: "Made by PicoClaw. Every word above about commands and checks comes from their records.",
  followUpMessage: "Follow up on the review",
  baseMoved: "The base branch moved meanwhile; the change was brought onto its tip.",
  baseConflicts: "The base branch moved meanwhile and conflicts with the change; please resolve it.",
  checkAbsent: (command) => `Could not be run in this environment: ${command}`,
  checksFailed: (commands) => `Still failing: ${commands.join(", ")}`,
  installWarning: (text) => `Dependencies: ${text}`,
  failure: (kind, detail) => (FAILURES[kind] ?? ((text: string) => text))(detail),
  patchInstead: (patch) =>
    `PicoClaw may not push to the source of this pull request. The change as a patch, for \`git apply\`:\n\n<details><summary>patch</summary>\n\n\`\`\`\`diff\n${patch}\n\`\`\`\`\n</details>`,
  patchTooLarge:
    "PicoClaw may not push to the source of this pull request, and the patch is too large for a comment.",
  alreadyRunning: (url) => `Already being worked on: ${url}`,
  notAnItem: (url) => `Not the address of an issue, PR or MR: ${url}`,
  noToken: (forge, variable) => `No token for ${forge}. Set ${variable}.`,
  unknownWorker: (kind, known) => `There is no worker ${kind}; there are ${known.join(", ")}`,
  started: (url) => `Working on ${url}`,
  resumed: (url) => `Going on with ${url}`,
};
