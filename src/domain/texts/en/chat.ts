import type { OwnTrouble } from "../../chat/message-commands.ts";
import {
  type RewindJob,
  type RewindMessage,
  type RewindPlan,
  rewindJobs,
  rewindMessages,
} from "../../chat/rewind-plan.ts";
import type { RuleProblem } from "../../chat/rule-pattern.ts";
import { type DecisionSource, otherRoute, ROUTES } from "../../config/configured-kinds.ts";
import type { Doubt } from "../../drafts/check-edits.ts";
import type { RedReason } from "../../jobs/result.ts";
import type { ModelTrouble, UsageTotal } from "../../models/model-facts.ts";
import { type ImageTrouble, MOST_IMAGE_BYTES, MOST_IMAGES } from "../../platform/image.ts";
import type { StoreTrouble } from "../../store/store-trouble.ts";
import {
  formatBytes,
  formatCost,
  formatTokens,
  many,
  thousands,
  type Wording,
  wordBy,
  wordFact,
} from "../format-text.ts";
import { pulls } from "./chat-pulls.ts";
import { schedules } from "./chat-schedules.ts";
import { coderAgent, coderProgress, wordCandidates } from "./coder.ts";

const files = (count: number) => many(count, "file");
/** Calls of MCP servers, and how the first that failed ended. */
type OutwardCalls = Readonly<{ succeeded: number; total: number; error?: string }>;

const to = (number: number) => (number === 0 ? "the beginning" : `message ${number}`);
const parts = (lines: readonly string[]) => lines.filter((line) => line !== "").join("\n");
const swapped = (jobs: readonly RewindJob[], again: readonly RewindJob[]) => [
  jobs.length > 0 ? "Undone" : again.length > 0 ? "" : "No change",
  rewindJobs(jobs),
  again.length > 0 ? "Applied" : "",
  rewindJobs(again),
];

export const rewind = {
  rewindList: (messages: readonly RewindMessage[]) =>
    `${rewindMessages(messages, files)}\n\nTo go back to one of them: /rewind N (0 is the beginning). What came after it is listed first.`,
  rewindPlan: ({ number, messages, jobs, again }: RewindPlan): string =>
    parts([
      `Back to ${to(number)}. ${jobs.length > 0 ? "This is undone, all of it or nothing:" : (again ?? []).length > 0 ? "All of it or nothing." : "No file changes."}`,
      rewindJobs(jobs),
      (again ?? []).length === 0 ? "" : "This is applied again:",
      rewindJobs(again ?? []),
      messages.length === 0 ? "" : "This is forgotten:",
      rewindMessages(messages, files),
      `To do it: /rewind ${number} --yes`,
    ]),
  rewindDone: ({ number, messages, jobs, again }: RewindPlan): string =>
    parts([
      ...swapped(jobs, again ?? []),
      `The conversation is at ${to(number)} again; messages forgotten: ${messages.length}. To return: /rewind redo`,
    ]),
  rewindRedone: (again: readonly RewindJob[], jobs?: readonly RewindJob[] | null): string =>
    parts([...swapped(jobs ?? [], again), "What was forgotten is remembered again."]),
  rewindStopped: (left: readonly string[]): string =>
    left.length === 0
      ? "So nothing was done: files and conversation are as they were."
      : `These had already been changed and could not be put back, because they changed again meanwhile: ${left.join(", ")}`,
  rewindGone: (jobs: readonly string[]) =>
    `Nothing was undone: the undo data of ${jobs.join(", ")} is gone, so not everything could be undone.`,
  rewindEarlier:
    "Only messages of this conversation are listed. For earlier ones, /resume returns to the previous conversation, and /rewind then lists them too. To undo a single earlier change: /jobs, then /undo JOB.",
  rewindNothing: "There is nothing to go back from.",
  rewindNoneBack: "There is no rewind in this session to return from.",
  rewindUsage: (most: number) =>
    `/rewind N: a message from 0 (the beginning) to ${most}. /rewind lists them.`,
  rewindStart: "the beginning",
  rewindLabel: "Rewind",
  rewindRedoLabel: "Return",
};

const STILL_RED: Readonly<Record<RedReason, string>> = {
  failing: "Still failing",
  worse: "The checks got worse",
  unended: "The checks did not end",
  conflict: "Others changed the same lines",
  hook: "A hook refused it",
  "new-failing": "New tests fail",
  "still-red": "Still red",
};

const DROPPED: Readonly<Record<RedReason, string>> = {
  failing: "Stopped, nothing changed",
  worse: "Not applied: checks got worse",
  unended: "Not applied: checks did not end",
  conflict: "Not applied: others changed the same lines",
  hook: "Not applied: a hook refused it",
  "new-failing": "Not applied: new tests fail",
  "still-red": "Stopped, nothing changed: still red",
};

export type AskedModel = Readonly<Record<"agent" | "role" | "provider" | "model", string>>;

export interface BudgetWords {
  readonly kind: "warn" | "local" | "unpriced";
  readonly spentUsd: number;
  readonly dailyUsd: number;
  readonly model?: string;
}

type StandInWords = Readonly<Record<"asked" | "answered" | "model", string>> & {
  readonly code: ModelTrouble;
};

/** `costUsd`: null where the model's price is unknown. */
type FooterFacts = Readonly<{ model: string; local: boolean; tokens: number; costUsd: number | null }> & {
  readonly cachedTokens?: number | undefined;
};

type HelpLine = readonly [command: string, what: string];

type WhatIsDoing = "waiting" | "deciding" | "thinking" | "running" | "tool";

const BRIEF_TROUBLES: Readonly<Record<string, string>> = {
  unreachable: "its server cannot be reached",
  timeout: "it did not answer in time",
  "rate-limited": "it is over its rate limit",
  "server-error": "its server reported an error",
  unauthorized: "its key was rejected",
  "unknown-model": "its model does not exist",
  "context-too-long": "the conversation is too long for it",
  "bad-request": "its server did not accept the request",
  "cut-off": "its answer was cut off",
  "cut-by-length": "its answer reached the length limit",
  filtered: "its provider's filter stopped the answer",
  empty: "its answer was empty",
  malformed: "its answer cannot be parsed",
  endless: "its answer did not end",
  "no-key": "it has no key",
  "not-configured": "it is not configured",
  "refused-remote": "only local models may answer",
  "over-budget": "the budget is spent",
  "no-price": "its price is unknown",
  "no-images": "it cannot read images",
  deadline: "the time limit was reached",
};

const SEND_LATER = "Send it again in a while.";
const SEND_AGAIN = "Nothing was run. Send it again.";
const setRightKey = ({ provider }: AskedModel) =>
  `Put the right key into the variable that providers.${provider || "<name>"}.api_key names (env:NAME; add the line where there is none).`;

/** Advice beside the model's own message. */
const HINTS: Readonly<Partial<Record<ModelTrouble, Wording<AskedModel>>>> = {
  unreachable: ({ provider }) => (provider === "ollama" ? "Start Ollama: ollama serve" : ""),
  "unknown-model": ({ role, provider, model }) =>
    provider === "ollama"
      ? `Get it with: ollama pull ${model}`
      : `Check the name of the model (roles.${role}.model).`,
  timeout: SEND_LATER,
  "rate-limited": SEND_LATER,
  "server-error": SEND_LATER,
  empty: SEND_LATER,
  "cut-off": SEND_AGAIN,
  "cut-by-length": SEND_AGAIN,
  filtered: SEND_AGAIN,
  unauthorized: setRightKey,
  "no-key": setRightKey,
  "context-too-long": "Shorten it, or start a new conversation: /new",
  "not-configured": ({ role }) =>
    `Configure roles.${role} and providers (see: picoclaw doctor, picoclaw config show).`,
  "refused-remote": "Coding needs no local model: /code REQUEST",
  "over-budget": "Send this again tomorrow, or raise the daily budget (budget.daily).",
  "no-images": ({ role }) =>
    `Choose a model that sees them (/model ${role} …; models.json in PICOCLAW_HOME says which do), or describe the image in words.`,
  "no-price":
    "Add its price (budget.prices, or models.json in PICOCLAW_HOME), or remove the budget (budget.daily).",
  deadline: ({ role }) =>
    `Ask for less at a time, or raise the limit (${role.startsWith("coder") ? "coder.max_minutes" : "loop.max_millis"}).`,
};

function reason(code: ModelTrouble, detail: string): string {
  if (code === "deadline") return "the time limit was reached";
  if (code === "cut-by-length") return "the answer reached the length limit (max_tokens) and was cut off";
  if (code === "filtered") return "its provider's filter stopped the answer";
  if (code === "no-price") return `a budget is set, and the price of ${detail} is unknown`;
  return code === "over-budget" ? `today's budget is spent (${detail})` : detail;
}

function trouble(code: ModelTrouble, asked: AskedModel, detail: string): string {
  if (code === "aborted") return "Stopped.";
  const why = reason(code, detail);
  // The model's own message often says what helps.
  const help = detail.includes("→") ? "" : wordFact(HINTS[code] ?? "", asked);
  return `${asked.agent} could not answer: ${why}${help === "" ? "" : `\n→ ${help}`}`;
}

/** An edit that was not carried out because it looks like a mistake. */
const doubt = wordBy<"kind", Doubt>("kind", {
  masked: ({ path }) => `${path}: **** hides a secret in a name, so it is unknown which file is meant`,
  unseen: ({ path }) => `${path} would be replaced whole, and the coder has not seen it`,
  elision: ({ path, line }) => `${path} would contain the line "${line}" in place of its code`,
  shrinks: ({ path, from, to }) => `${path} would shrink from ${from} to ${to} lines`,
  "not-whole": ({ path, names }) =>
    names.length === 0
      ? `a block for ${path} is not the whole file: it ends in the middle, or does not parse`
      : `a block for ${path} is not the whole file: it lacks ${names.slice(0, 5).join(", ")}`,
  mark: ({ path, line }) => `${path} would contain the mark "${line}" of an edit`,
});
const doubts = (of: readonly Doubt[]) => of.map(doubt).join("; ");
const answerSkipped = (parts: readonly string[]) =>
  `not carried out from the coder's answer: ${parts.slice(0, 5).join(" · ")}${parts.length > 5 ? ` … (${parts.length})` : ""}`;
const unusable = (detail: string) => `The proposal could not be carried out; nothing was changed.\n${detail}`;

const ownTrouble = wordBy<"why", OwnTrouble>("why", {
  route: ({ route }) =>
    `there is no route ${route}; it is routed like any other message. Routes: ${ROUTES.join(", ")}`,
  unclosed: "its header is not closed with ---, so it counts as text.",
  line: ({ line }) => `this line of its header cannot be read: ${line}`,
});

export const chatTexts = {
  // A coder's job
  riskNote: (risk: string) => `Risk: ${risk}`,
  patchUnreadable: (detail: string, line: number | null) =>
    `The patch is not in a valid format. Write it as JSON, Markdown, a unified diff, V4A or SEARCH/REPLACE.\n${detail === "" ? "" : `${line === null ? "Detail" : `Detail (line ${line})`}: ${detail}\n`}Nothing was changed.`,
  unreadableBrief: "the patch is not in a valid format",
  endlessBrief: "the answer had no end and was stopped",
  doubts,
  proposalDoubted: (of: readonly Doubt[]) => unusable(`${doubts(of)}.`),
  proposalUnusable: unusable,
  answerSkipped,
  proposalSkipped: (parts: readonly string[]) => unusable(`${answerSkipped(parts)}.`),
  sentBack: (attempt: number, of: number, brief: string) => `Try ${attempt} of ${of}: ${brief}. Fixing…`,
  joins: "A coder is at work; this joins its next round.",
  giveToCoder: "Give to a coder",
  contested: (paths: readonly string[], jobs: readonly string[]) =>
    `${paths.join(", ")} changed meanwhile${jobs.length === 0 ? "" : ` (${jobs.join(", ")})`}; it is sent back to the coder.`,
  steered: "The coder takes what you wrote into its next round.",
  unexplained:
    "Nothing was changed: the coder's answer has neither a patch nor the line that says why none is needed.",
  nothingChanged: "Nothing was changed.",
  unchangedBecause: (reason: string): string => `Nothing was changed. The coder's words: ${reason}`,
  planHint: "Nothing was changed. To carry this plan out: go",
  goLabel: "Go",
  stillRed: (red: RedReason, brief: string): string => `${STILL_RED[red]}: ${brief}`,
  draftDropped: (red: RedReason, attempts: number): string =>
    `${DROPPED[red]}\nThe draft was discarded after ${many(attempts, "attempt")} (coder.on_red: discard).`,
  attemptsTaken: (attempts: number, tried: readonly string[]) =>
    `Attempts: ${attempts}${tried.length === 0 ? "" : `. Tried before: ${tried.join(" / ")}`}`,
  reading: (agent: string, tokens: number, seconds: number | null) =>
    `${agent} is reading ${thousands(tokens)} tokens${seconds === null ? "" : `, about ${seconds} s`}…`,
  keptBest: (attempt: number, of: number) =>
    `Kept is attempt ${attempt} of ${of}, whose checks were the best.`,
  triedBefore: (tried: readonly string[]) => `Tried before: ${tried.join(" / ")}`,
  coderStopped: {
    attempts: (limit: number, isLocal: boolean) =>
      `Still failing after ${many(limit, "attempt")} (the limit: ${isLocal ? "coder.local_attempts" : "coder.attempts"}).`,
    same: "The same failure occurred twice, so the coder was not asked again.",
    "gave-up": "The coder proposed nothing more.",
    conflict: "The coder was shown the conflicting change twice and did not resolve the conflict.",
  },
  heads: wordCandidates,
  headsAlone:
    "You asked for several coders, but only one can work here: the others have no key, /dry is on, or drafts are not possible.",
  coderBudget: (usd: number) =>
    `The budget for one message, $${usd.toFixed(2)}, is spent (coder.budget_usd).`,
  windowTooSmall: (model: string, tokens: number) =>
    `The window of ${model} has ${tokens} tokens: too few for a file and an answer. Start its server with 8192 or more (--ctx-size; ollama.max_context), or choose another model (/model).`,
  coderCost: (usd: number) => `Cost: $${usd.toFixed(4)}`,
  looks: {
    read: (paths: readonly string[]) => `Reading more files: ${paths.join(", ")}`,
    search: (texts: readonly string[]) => `Searching: ${texts.join(", ")}`,
    run: (commands: readonly string[]) => `Running: ${commands.join(", ")}`,
    call: (calls: readonly string[]) => `Calling tools: ${calls.join(", ")}`,
  },
  editorModes: {
    auto: { name: "Auto", description: "Changes are made at once, each as a job that can be undone" },
    preview: {
      name: "Preview",
      description: "Changes are run without touching your files and shown; /apply applies them",
    },
    plan: { name: "Plan", description: "A plan only; nothing is changed" },
  },
  editorModel: { name: "Coder", description: "The model that writes code in this session" },
  mcpCalled: (names: readonly string[]) =>
    `MCP tools called: ${names.join(", ")}. What they did cannot be undone.`,
  mcpLate: (seconds: number) =>
    `The MCP servers did not start within ${seconds} s; the coder works without them this time.`,
  mcpToolsLeftOut: (names: readonly string[]) =>
    `Too many MCP tools for one request; the coder is not offered: ${names.join(", ")}.`,
  /** Rules of the project that do not fit beside the request. */
  rulesCut: (cut: readonly { readonly path: string; readonly shown: number; readonly of: number }[]) =>
    `Project rules too long for this model: ${cut.map(({ path, shown, of }) => `${path} (${shown} of ${of} characters shown)`).join(", ")}. It can read the rest when it needs it.`,
  mcpPartly: (status: string, { succeeded, total, error = "" }: OutwardCalls) =>
    `${status} (${succeeded}/${total} commands succeeded). Failed: ${error}`,
  mcpCompleted: ({ succeeded, total }: OutwardCalls) => `Applied (${succeeded}/${total} commands succeeded)`,
  webRead: (hosts: readonly string[]) =>
    `Read from the web: ${hosts.join(", ")}. These requests cannot be undone.`,
  processesTouched: (names: readonly string[]) =>
    `Background processes started or ended: ${names.join(", ")} (/ps). What they do cannot be undone.`,
  browserNotUndoable: "What was done in the browser or at other services cannot be undone.",
  browserMissing:
    "This proposal needs a browser, but mcp_servers.browser is not configured. Configure it and send this again.",
  mcpUnavailable: (server: string, detail: string) => `MCP server ${server} cannot be used: ${detail}`,
  noPreview: "There is no preview to apply.",

  // Models
  imageTrouble: wordBy<"kind", ImageTrouble>("kind", {
    "not-an-image": ({ name }) => `${name} is not an image that models take (PNG, JPEG, GIF or WebP).`,
    "too-large": ({ name, sizeBytes }) =>
      `${name} is too large to be shown to a model: ${formatBytes(sizeBytes)}, at most ${formatBytes(MOST_IMAGE_BYTES)}.`,
    "too-many": ({ count }) => `${count} images are too many for one message: at most ${MOST_IMAGES}.`,
  }),
  imageGone: (names: readonly string[]) => `${names.join(", ")}: no longer kept here. Send it again.`,
  imageNotFetched: (name: string, detail: string) =>
    `${name} could not be fetched: ${detail}. Send it again.`,
  modelTrouble: trouble,
  retrying: (attempt: number, seconds: number, why: string) => `Retry ${attempt} in ${seconds} s: ${why}`,
  compacted: "That was too long for the model; trying once more with less.",
  budget: ({ kind, spentUsd, dailyUsd, model = "" }: BudgetWords): string => {
    const facts = `$${spentUsd.toFixed(2)} of $${dailyUsd.toFixed(2)}`;
    return {
      warn: `Today's budget is ${spentUsd < dailyUsd ? "nearly " : ""}spent (${facts}).`,
      local: `Today's budget is spent; the local model ${model} answered (${facts}).`,
      unpriced: `The price of ${model} is unknown, so the budget does not count it: add it to budget.prices.`,
    }[kind];
  },
  stoodIn: ({ asked, answered, model, code }: StandInWords): string =>
    `Note: ${asked} could not answer (${BRIEF_TROUBLES[code] ?? "unknown reason"}), so ${answered} (${model}) answered instead (coder.fallback).`,
  cutOver: (sessionId: string) =>
    `A new day, a new session (${sessionId}). A summary of the last one is carried over. To go back: /resume`,
  answerGoesOn: "The answer reached the length limit (max_tokens); the coder continues from there.",
  cloudLabel: (provider: string) => `Use ${provider} for questions too`,
  cloudUsage:
    "/cloud on: the model that writes code answers questions too, in the cloud. /cloud off: questions stay on local models.",
  cloudForOwner: "Only the owner of this machine can change that: in a terminal, picoclaw chat /cloud on.",
  allowForOwner:
    "Only the owner of this machine can change which hosts a model's commands reach: in a terminal, picoclaw chat /allow HOST",
  allowNoHost: (entry: string) => `${entry} is no host. Write example.org, *.example.org or host:8443`,
  allowList: (hosts: readonly string[]) =>
    hosts.length === 0
      ? "No further host is allowed here to commands that a model starts. To allow one: /allow HOST"
      : `Commands that a model starts may also reach, in this workspace: ${hosts.join(", ")}. To take one back: /allow remove HOST`,
  cloudNone: "No cloud model writes code here. Add a key first: picoclaw login",
  cloudRefused: (why: string) => `The configuration was not changed. ${why}`,
  cloudOn: (provider: string) =>
    `${provider} answers questions too. It receives them and everything that is read to answer them. /cloud off stops this.`,
  cloudOff: "Questions stay on local models.",
  noLocalModel: (provider: string) =>
    `No model on this machine answers questions, and ${provider} is a cloud model: it answers them once you allow it.\n→ /cloud on (in a shell: picoclaw chat /cloud on). Changing files works already: /code …`,
  noModelYet:
    "No model answers: no API key is set, and Ollama does not run on this machine.\n→ picoclaw login (paste a key), or picoclaw init (finds what this machine has)",
  coderWorks:
    "Or let your coder's cloud model answer questions too: /cloud on (in a shell: picoclaw chat /cloud on). Changing files works already: /code …",
  insteadOf: (wanted: string, model: string) =>
    `Note: ${wanted} is not installed, so ${model} answers. To choose another: picoclaw init`,
  codingWorks: "Changing files works meanwhile: /code …",
  messageCut:
    "Note: your message was too long for this model. It read the beginning and the end, 8,000 characters in all.",
  answerCut: "Note: the answer reached the length limit (max_tokens) and was cut off.",
  cloudAnswered: (model: string) => `Note: this answer came from a cloud model (${model}).`,
  askRoute: (route: string) => `Ask ${route}`,
  rerouted: (from: string, to: string) => `Handed over from ${from} to ${to}.`,
  loopLimit: (loops: number) =>
    `Stopped after ${many(loops, "round")}, the most for one message (loop.max_loops); this is how far it got.`,
  timeLimit: (seconds: number) =>
    `Stopped after ${seconds} s, the time limit for one message (loop.max_millis); this is how far it got.`,
  stuck: (tool: string) => `The same call of ${tool} failed repeatedly; this is how far it got.`,

  // Commands
  noJobs: "There are no jobs yet.",
  otherChatsJobs: (direction: "undo" | "redo") =>
    `There are jobs of other chats and of the command line: /jobs lists them, /${direction} JOB ${direction === "undo" ? "undoes one of them" : "applies one of them again"}.`,
  dryState: (on: boolean): string =>
    on ? "Dry mode: on (proposals are shown, not run)" : "Dry mode: off (proposals run at once)",
  dryUsage: "Usage: /dry on or /dry off",
  previewUsage:
    "Usage: /preview REQUEST (runs the change without applying it and shows it; /apply applies it)",
  stopped: "Stopped what was running.",
  nothingRuns: "Nothing is running.",
  asideUsage: "What do you want to know? /btw QUESTION",
  workGoesOn: "The work continues.",
  waitedForNothing:
    "Nothing to undo: the message that /undo waited for changed nothing. Earlier jobs stay applied; /undo now undoes the last of them.",
  noDiff: "There are no differences.",
  diffCut: (lines: number) => `… ${lines} more lines`,
  unknownCommand: (name: string, nearest: string | null) =>
    `Unknown command: /${name}${nearest === null ? "" : ` (did you mean /${nearest}?)`}\nAll of them: /help`,
  ...rewind,
  ...pulls,
  ...schedules,
  ownHidden: (file: string, name: string) =>
    `${file} is not used: /${name} is a command of PicoClaw. Give the file another name.`,
  ownTrouble: (file: string, trouble: OwnTrouble): string => `${file}: ${ownTrouble(trouble)}`,
  commandUntrusted: (name: string) =>
    `/${name} is a command of this folder, but the folder is not trusted, or its commands or skills changed since. Read .picoclaw/ there, then run: picoclaw trust`,
  /** The ten that are needed most. */
  help: [
    ["/code REQUEST", "a coder writes it and it runs at once"],
    ["/undo [job]", "undo the last change, or that job"],
    ["/redo [job]", "apply an undone change again"],
    ["/diff [job]", "what the last change did, or that job"],
    ["/jobs", "the last jobs"],
    ["/preview REQUEST", "show the change first, then /apply or /discard"],
    ["/rewind [N]", "go back to a message: what came after it is undone and forgotten"],
    ["/model", "who answers with which model"],
    ["/status", "where it works, who answers, and what is waiting"],
    ["/new", "start a new conversation"],
  ] as readonly HelpLine[],
  helpAll: ["/help all", "every command"] as HelpLine,
  helpMore: [
    ["/chat /plan", "talk or plan with Mio"],
    ["/analyze /ops /research", "Shiro investigates, or carries out commands"],
    ["/code1 /code2 /code3", "that coder alone: Aka, Ao, Gin"],
    ["/code plan REQUEST", "a coder plans and changes nothing; go carries it out"],
    ["/code all REQUEST", "every coder tries it in a draft of its own; the best one is applied"],
    ["/head NAME REQUEST", "your own agent (Claude Code, Codex, Gemini, ACP) works on it"],
    [
      "/review [branch|A..B|#12]",
      "a coder reviews a change; #12 --post posts the review on the pull request",
    ],
    ["/commit [message]", "commit what is staged, or the last change, on this branch; nothing is pushed"],
    ["/pr [title]", "commit the work on a branch, push it, and open a pull request (--draft, --base BRANCH)"],
    [
      "/schedule every weekday at 9 …",
      "post a message here at set times; /schedule list|run|pause|resume|remove|history N",
    ],
    ["/export [html]", "this conversation as Markdown or as a page"],
    ["/ps [start|log|restart|stop]", "background processes: a dev server, a watcher, a database"],
    ["/allow [HOST]", "let commands of a model reach a host from this workspace"],
    ["/apply [job]", "apply a preview"],
    ["/discard [job]", "discard a preview"],
    ["/dry on|off", "show proposals, run nothing"],
    [
      "/why [FILE:LINE|removed text]",
      "which job wrote that line, or removed it; without an argument: why the last message was routed as it was",
    ],
    ["/route X", "where it should have gone; it is sent there"],
    ["/remember", "keep what /route taught"],
    ["/rules", "list what /route taught"],
    ["/forget N", "forget a rule"],
    ["/effort", "how much a model thinks"],
    ["/cost /usage", "tokens and cost: today, by model, by day"],
    ["/stats [DAYS]", "cost and tokens by day and model, jobs green at the first attempt, jobs undone"],
    ["/compact", "fold the conversation so far into a summary"],
    ["/clear", "the same as /new"],
    ["/init", "a coder writes AGENTS.md, the page that coders read first"],
    ["/config", "where the settings are"],
    ["/cloud on|off", "whether your coder's cloud model answers questions too"],
    ["/login", "add an API key"],
    ["/context", "what the models are given of this conversation"],
    ["/resume", "go back to the conversation before; /resume list names them"],
    ["/notes /memo", "read and forget what is remembered; keep something in mind by name"],
    ["/btw QUESTION", "ask a question without affecting the work in progress"],
    ["/stop", "stop what is running"],
    ["/help", "the ten that are needed most"],
  ] as readonly HelpLine[],

  // The message itself
  reviewing: (what: string) => (what === "" ? "Reviewing the change." : `Reviewing ${what}.`),
  reviewUnknown: (name: string) =>
    `There is no branch, tag or commit ${name} here, so no model was asked. /review alone: what is not committed yet, or this branch.`,
  reviewUsage:
    "/review: what is not committed yet, or this branch. /review BRANCH, /review COMMIT, /review A..B, /review #12 (a pull request; --post posts the review there).",
  configWhere:
    "Settings in effect, and where each comes from: picoclaw config show. To change them: picoclaw init (models and keys), the console (picoclaw serve, Settings), or $PICOCLAW_HOME/config.yaml. In this conversation: /model, /effort, /dry.",
  loginWhere:
    "A key never belongs in a message. In a shell: picoclaw login asks for it, tests it and keeps it for you alone. A running picoclaw serve uses it after a restart. In a conversation at a terminal, but not in plain mode, /login without a key asks for it.",
  writes: "writing",
  writesPatch: (lines: number) => `writing the change, ${many(lines, "line")}`,
  step: {
    read: "read",
    search: "search",
    edit: "edit",
    check: "check",
    run: "run",
    plan: "plan",
    retry: "try",
    tool: "tool",
    agent: "agent",
  },
  agentEnd: (end: "done" | "failed" | "stopped", files: number) =>
    end === "done" ? (files === 0 ? "" : many(files, "file")) : end,
  exportUsage:
    "/export: this conversation with its jobs and their differences, as a Markdown file. /export html: as a page.",
  exportedTo: (path: string) => `Written: ${path}`,
  nothingToExport: "There is nothing in this conversation yet.",
  exported: { you: "You", title: (chat: string, folder: string) => `Conversation ${chat}, ${folder}` },
  emptyMessage: "The message is empty.",
  notText:
    "Standard input is not text (UTF-8), so nothing was sent. Save it as a file in the workspace and name that in the message.",
  messageTooLong: (limit: string) =>
    `The message is too long (limit ${limit}). Save it as a file and name that.`,
  aborted: "Stopped.",
  diskFull: "No space left on the disk. Free some disk space, then send the message again.",
  storeAway: (detail: string) =>
    `The database cannot be written to now (${detail}). Send the message again later.`,
  unexpected: (detail: string) => `An unexpected error occurred: ${detail}`,

  // The terminal
  progress: coderProgress,
  agentDoing: coderAgent,
  doing: (what: WhatIsDoing, detail: string): string =>
    ({
      waiting: `waiting (${detail} ahead)`,
      deciding: "choosing who answers",
      thinking: `${detail} is thinking`,
      running: `running ${detail}`,
      tool: `tool ${detail}`,
    })[what],
  badChatName: (name: string) =>
    `${name} is not a valid chat name: use letters, digits, - and _, at most 40.`,
  noSuchChat: (name: string) => `The chat ${name} has no messages in this folder.`,
  chatTaken: (name: string) => `The chat ${name} already exists. Choose another name: --name`,
  chatForgotten: (name: string) => `The chat ${name} was forgotten. Its jobs stay: picoclaw jobs`,
  chatBusy: (name: string) => `The chat ${name} is being answered. Try again when the answer is complete.`,
  noChats: "There are no chats yet. Start one: picoclaw chat --name NAME",
  chatsHeader: {
    name: "chat",
    at: "last",
    messages: "messages",
    said: "last message",
    workspace: "workspace",
  },
  goodbye: "Bye.",
  stopHint: "stopping… Ctrl-C again quits",
  footer: ({ model, local, tokens, cachedTokens = 0, costUsd }: FooterFacts) =>
    `${model} (${local ? "local" : "cloud"}) · ${tokens} tokens${cachedTokens > 0 ? ` (${cachedTokens} from the cache)` : ""}${costUsd === 0 ? "" : ` · ${formatCost(costUsd ?? 0, costUsd === null)}`}`,
  actions: { undo: "Undo", redo: "Redo", diff: "Diff", apply: "Apply", discard: "Discard", jobs: "Jobs" },
};

/** A line about a chat; `message`: the command that is about it. */
export type ContextLine = readonly [about: string, words: string, message: string];

/** An earlier conversation. `text`: its first words. */
type SessionLine = Readonly<{ id: string; at: string; messages: number; text: string }>;

export interface WhyFacts {
  readonly route: string;
  readonly source: DecisionSource;
  readonly confidence: number;
  readonly reason: string;
  readonly message: string;
  /** `provider/model`, those that answered. */
  readonly models: readonly string[];
  readonly corrected: string | null;
  readonly measured: MeasuredCoder | null;
}

/** A comparison's result on the user's own cases for the coder that is asked first. `share`: of what the last one cost. */
export type MeasuredCoder = Readonly<{ agent: string; solved: number; of: number; share: number | null }>;

const wordMeasured = ({ agent, solved, of, share }: MeasuredCoder) =>
  `${agent} first: ${solved} of ${of} of your cases${share === null ? "" : ` at ${Math.round(share * 100)} % of the cost`} (picoclaw compare)`;

const SOURCES = {
  forced: "forced",
  explicit: "explicit command",
  rule: "rule dictionary",
  classifier: "classifier",
  fallback: "fallback",
} as const;

/** A role and the model that answers for it. */
export interface ModelFactsLine {
  readonly role: string;
  readonly agent: string;
  /** `provider/model`; null: it cannot be asked. */
  readonly name: string | null;
  readonly isChosen: boolean;
  readonly isDefault: boolean;
  readonly local?: boolean;
  readonly effort?: string | null;
  /** In tokens. */
  readonly context?: number | null;
  /** US dollars per million tokens; null: unknown. */
  readonly price?: { readonly input: number; readonly output: number } | null;
  readonly images?: boolean | null;
}

type ModelFactsWords = Pick<ModelFactsLine, "local" | "context" | "price" | "images" | "effort">;

function modelFacts({ local, context, price, images, effort }: ModelFactsWords): string {
  const cost = price == null ? "price –" : `$${price.input} in, $${price.output} out per million tokens`;
  return [
    local ? "local" : "cloud",
    ...(context == null ? [] : [`${formatTokens(context)} context`]),
    ...(local ? [] : [cost]),
    ...(images === true ? ["sees images"] : []),
    ...(effort == null ? [] : [`effort ${effort}`]),
  ].join(" · ");
}

const aboutTokens = (tokens: number) =>
  `about ${tokens < 1000 ? tokens : `${(tokens / 1000).toFixed(1)}k`} tokens`;
/** The part of a conversation that models are given; `exchanges` word for word. `agent`: the default coder. */
type ContextFacts = Readonly<Record<"sessionId" | "begunAt" | "agent", string>> &
  Readonly<
    Record<"messages" | "exchanges" | "exchangeTokens" | "limitTokens" | "memoryTokens" | "memos", number>
  > & {
    readonly model: string | null;
    /** How many tokens fit; null: unknown. */
    readonly window: number | null;
  };

/** `trouble`: why it would not answer; null: it would. */
export type StatusModel = Readonly<{ name: string; trouble: ModelTrouble | null }>;

function wordModel(model: StatusModel | null): string {
  if (model === null) return "not set up yet (picoclaw init)";
  return model.trouble === null ? model.name : `${model.name}, but ${BRIEF_TROUBLES[model.trouble]}`;
}

interface StatusFacts {
  readonly folder: string;
  readonly talks: StatusModel | null;
  readonly codes: StatusModel | null;
  readonly dry: boolean;
  readonly isAtWork: boolean;
  readonly previews: readonly { readonly name: string; readonly title: string }[];
  /** The last job that changed something, if there is one. */
  readonly lastJobs: readonly { readonly name: string; readonly words: string }[];
  readonly spentUsd: number;
  readonly dailyUsd: number | null;
}

const storeAdvice = wordBy<"why", StoreTrouble>("why", {
  newer: "A later version of PicoClaw has changed its tables. Upgrade PicoClaw on this machine.",
  older: ({ kind, name }) =>
    `It was made by an older version of PicoClaw and cannot be carried over. ${kind === "sqlite" ? `Move ${name} away, together with ${name}-wal and ${name}-shm, and start again` : "Name an empty database in database_url and run `picoclaw db migrate`"}: the record of conversations is lost, but every job can still be undone.`,
  damaged:
    "If the file is damaged, move it away: the record of conversations is lost with it, but every job can still be undone.",
  distrusted:
    "The server's certificate does not match. In database_url, use a host name that is in the certificate, and set sslrootcert=FILE to the certificate of the authority that signed it.",
  "read-only":
    "The database is read-only: it is a standby, or writes are disabled. Name the primary in database_url, or enable writes.",
  unreachable: ({ kind }) =>
    kind === "sqlite"
      ? "Check its permissions and the free space there, or set PICOCLAW_HOME to a folder that can be written to."
      : "Check the address in database_url, and that the server is running.",
});

export const memoryTexts = {
  context: (facts: ContextFacts): readonly ContextLine[] => {
    const { exchangeTokens, limitTokens, memoryTokens, window, model } = facts;
    const fills =
      window === null || window === 0
        ? ""
        : `; ${formatTokens(window)} fit, this fills ${Math.round((100 * (exchangeTokens + memoryTokens)) / window)} %`;
    const last = `the last ${facts.exchanges === 1 ? "exchange" : `${facts.exchanges} exchanges`}`;
    const given = `${last}, ${aboutTokens(exchangeTokens)} of at most ${limitTokens} (session.history_tokens)`;
    const since = `${many(facts.messages, "message")} since ${facts.begunAt} (${facts.sessionId})`;
    return [
      ["Conversation", since, "/rewind"],
      ["Word for word", given, "/rewind"],
      ["From before", memoryTokens === 0 ? "nothing" : aboutTokens(memoryTokens), "/notes"],
      ["Kept by name", String(facts.memos), "/memo"],
      [facts.agent, `${model ?? "cannot be asked"}${fills}`, "/model"],
      ["Start over", "the models no longer see this conversation", "/new"],
    ];
  },
  status: ({ dry, lastJobs, spentUsd, dailyUsd, ...facts }: StatusFacts): readonly ContextLine[] => [
    ["Folder", facts.folder, "/jobs"],
    ["Talks", wordModel(facts.talks), "/model mio"],
    ["Codes", wordModel(facts.codes), "/model"],
    ["Proposals", dry ? "are shown, not run (/dry on)" : "run at once", dry ? "/dry off" : "/dry on"],
    ...(facts.isAtWork ? [["Now", "a coder is at work", "/stop"] as const] : []),
    ...facts.previews.map(
      ({ name, title }) => ["Preview waits", `${name} ${title}`, `/diff ${name}`] as const,
    ),
    ...lastJobs.map(({ name, words }) => ["Last job", `${name} ${words}`, `/diff ${name}`] as const),
    ["Today", `${formatCost(spentUsd, false)}${dailyUsd === null ? "" : ` of $${dailyUsd}`}`, "/cost"],
  ],
  sessionLine: ({ id, at, messages, text }: SessionLine) =>
    `${id}  ${at}  ${many(messages, "message")}${text === "" ? "" : `  “${text}”`}`,
  sessionFacts: (messages: number, text: string) =>
    `${many(messages, "message")}${text === "" ? "" : ` · “${text}”`}`,
  resumeUsage: "To go back to one of them: /resume NAME",
  costOfDay: (day: string) => `Day ${day}`,
  costUsage: "/cost DAY shows a day by model, /cost MODEL a model by day.",
  noSuchCost: (name: string) => `Nothing was used under this name in the last 7 days: ${name}`,
  why: ({ route, source, confidence, reason, message, models, corrected, measured }: WhyFacts) =>
    [
      `Route: ${route} (${SOURCES[source]}, confidence ${confidence.toFixed(2)})`,
      `Reason: ${reason}`,
      `Message: ${message}`,
      ...(models.length > 0 ? [`Models: ${models.join(", ")}`] : []),
      ...(measured === null ? [] : [wordMeasured(measured)]),
      ...(corrected === null ? [] : [`Corrected to: ${corrected}`]),
      `If that is wrong, correct it: /route ${otherRoute(route, corrected)}`,
    ].join("\n"),
  noDecision: "No message in this chat has been routed yet.",
  routeUsage: (routes: readonly string[]) => `Name a route after /route: ${routes.join(" ")}`,
  corrected: (from: string, to: string) => `Route corrected: ${from} → ${to}`,
  offered: (pattern: string) =>
    `Decide like this from now on? /remember keeps the rule (pattern: ${pattern})`,
  notOffered:
    "No rule can be made of this message (it is too short, or a rule in the configuration takes precedence).",
  remembered: (pattern: string, route: string) =>
    `Remembered: ${pattern} → ${route} (/rules lists, /forget removes)`,
  nothingToRemember: "There is no rule to remember. Correct a decision with /route first.",
  rule: (place: number, pattern: string, route: string) => `${place}. ${pattern} → ${route}`,
  noRules: "This chat has learned no rules.",
  forgetUsage: "Give the number from /rules after /forget.",
  note: (place: number, session: string, text: string) => `${place}. ${session}: ${text}`,
  notesNow: "What this session knows from before:",
  noNotes: "There are no notes yet.",
  notesUsage:
    "/notes 1 reads one, /notes forget 1 forgets it (all: every one), /notes forget now forgets what this session knows from before.",
  summaryForgotten: "Forgotten: what this session knew from before.",
  noMemos:
    "Nothing is kept in this session. /memo name = value keeps something in mind, /memo forget name forgets it.",
  noMemo: (name: string) => `Nothing is kept under this name: ${name}`,
  memoKept: (name: string, value: string) => `Kept in mind for this session: ${name} = ${value}`,
  memoTooMuch: "That is too much: at most 50 names of 60 characters, with values of 1,000.",
  forgotten: (pattern: string) => `Forgotten: ${pattern}`,
  ruleProblem: wordBy<"kind", RuleProblem>("kind", {
    "not-a-pattern": ({ pattern, detail }) =>
      `The rule "${pattern}" is not used: it is not a regular expression: ${detail}`,
    catastrophic: ({ pattern, detail }) =>
      `The rule "${pattern}" is not used: matching it could take forever: ${detail}`,
    example: ({ pattern, expected, example }) =>
      `The rule "${pattern}" is not used: it ${expected ? "does not match" : "matches"} its example "${example}"`,
  }),

  compacted: (messages: number) =>
    messages === 0
      ? "There is nothing to fold yet: only the last question and its answer are kept whole."
      : `${messages} messages were folded into a summary; the last question and its answer stay whole.`,
  newSession: "A new conversation begins. /resume returns to the previous one.",
  newFailed: "The summary could not be saved, so the session stays as it is.",
  resumed: (sessionId: string, turns: number) => `The session continues: ${sessionId} (${turns} turns)`,
  nothingToResume: "There is no session to go back to.",

  usageHeader: { all: "Today", chat: "This chat today", person: "Your chats today", days: "Last 7 days" },
  usageLine: ({ name, calls, inputTokens, outputTokens, cachedTokens, costUsd, unpriced }: UsageTotal) => {
    const cached = cachedTokens > 0 ? ` (${cachedTokens} from the cache)` : "";
    return `${name}: ${many(calls, "request")}, ${inputTokens} tokens in${cached}, ${outputTokens} out, ${formatCost(costUsd, unpriced > 0)}`;
  },
  models: {
    line: ({ agent, role, name, isChosen, isDefault, ...facts }: ModelFactsLine): string => {
      const who = `${agent} (${role}${isDefault ? ", default coder" : ""})`;
      if (name === null) return `${who}: cannot be asked (see: picoclaw doctor)`;
      return `${who}: ${name} · ${[modelFacts(facts), ...(isChosen ? ["chosen in this chat"] : [])].join(" · ")}`;
    },
    facts: modelFacts,
    forAgent: (agent: string) => `for ${agent}`,
    isNow: "now",
    asConfigured: "as the configuration says",
    forOthers: (agent: string, role: string, name: string | null) =>
      `${agent} (${role}): ${name ?? "cannot be asked"}`,
    effortWords: {
      off: "answers at once",
      low: "thinks a little",
      medium: "thinks before it answers",
      high: "thinks long; slower and more expensive",
    } as Readonly<Record<string, string>>,
    measured: wordMeasured,
    table: (dated: string) => `Prices as of ${dated}; models.json in PICOCLAW_HOME replaces them.`,
    offered: (names: readonly string[]) => `To choose from: ${names.length === 0 ? "–" : names.join(", ")}`,
    usage: "/model NAME (the default coder), /model gin NAME, /model default",
    unknown: (name: string) => `No provider of the configuration has ${name}.`,
    changed: (agent: string, name: string, local: boolean) =>
      `${agent} uses ${name} (${local ? "local" : "cloud"}) in this chat from the next message on. Back: /model ${agent.toLowerCase()} default`,
    reset: (agent: string) => `${agent} is as configured again.`,
    effortNow: (agent: string, name: string | null, effort: string | null) =>
      `${agent}${name === null ? "" : ` (${name})`}: effort ${effort ?? "is left to the model"}`,
    effortUsage: "/effort off|low|medium|high (the default coder), /effort mio low, /effort default",
    effortSet: (agent: string, effort: string) =>
      `${agent} works with effort ${effort} in this chat from the next message on.`,
    effortIgnored: (name: string) => `${name} has no such setting, so nothing changes.`,
  },
  noUsage: "No model was used today.",
  budgetLine: (spent: number, daily: number) =>
    `Budget: ${formatCost(spent, false)} of $${daily} spent (${daily === 0 ? 100 : Math.round((spent / daily) * 100)} %)`,
  storeKind: (kind: "SQLite" | "Postgres") => `Database: ${kind}`,
  /** The store as a whole: `backup`, `restore`, `db copy`, `db forget`. */
  backedUp: (folder: string, rows: number) => `${folder}: ${rows} rows and the configuration`,
  undoNotBackedUp: (folders: readonly string[]) =>
    `Not included, and to be kept with their workspaces: journals and undo data in\n${folders.map((one) => `  ${one}`).join("\n")}`,
  backupExists: (folder: string) => `${folder} is not empty. Name a new folder.`,
  filled: (rows: number) => `${rows} rows were written, read back and compared.`,
  storeInUse: (table: string) =>
    `Nothing was written: the database is in use (${table} has rows). Use a new PICOCLAW_HOME or an empty database.`,
  storeUnequal: (table: string) =>
    `Nothing was kept: what was read back from ${table} is not what was written.`,
  backupDamaged: (file: string) => `Nothing was written: ${file} is missing or not as it was made.`,
  backupOfOther: (version: string) =>
    `Nothing was written: the backup was made by version ${version}, whose tables are different. Restore it with that version, then upgrade.`,
  personForgotten: (who: string, rows: number) =>
    `${who}: ${rows} rows deleted. Jobs and their undo data stay in the workspace's storage.`,
  storeUnavailable: (trouble: StoreTrouble) =>
    `The database cannot be opened: ${trouble.name} (${trouble.detail})\n${storeAdvice(trouble)}`,
};
