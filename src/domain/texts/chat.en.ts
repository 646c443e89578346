import type { ModelTrouble } from "../models/model-trouble.ts";
import type { OwnTrouble } from "../chat/message-commands.ts";
import { ROUTES } from "../config/route.ts";
import type { RedReason } from "../jobs/job-status.ts";
import { coderProgress } from "./coder-progress.ts";
import { heads } from "./coder.en.ts";
import { rewind } from "./rewind.ts";

const STILL_RED: Readonly<Record<RedReason, string>> = {
  failing: "Still failing",
  worse: "The checks got worse",
  unended: "The checks did not end",
};

const DROPPED: Readonly<Record<RedReason, string>> = {
  failing: "Stopped, nothing changed",
  worse: "Not applied: checks got worse",
  unended: "Not applied: checks did not end",
};

export interface AskedModel {
  readonly agent: string;
  readonly role: string;
  readonly provider: string;
  readonly model: string;
}

export interface BudgetWords {
  readonly kind: "warn" | "local" | "unpriced";
  readonly spentUsd: number;
  readonly dailyUsd: number;
  readonly model?: string;
}

export interface StandInWords {
  readonly asked: string;
  readonly answered: string;
  readonly model: string;
  readonly code: ModelTrouble;
}

type WhatIsDoing = "waiting" | "deciding" | "thinking" | "running" | "tool";

/** What helps, beside what the model's own message says. */
function hint(code: ModelTrouble, { role, provider, model }: AskedModel): string {
  switch (code) {
    case "unreachable":
      return provider === "ollama" ? "Start Ollama: ollama serve" : "";
    case "unknown-model":
      return provider === "ollama" ? `Get it with: ollama pull ${model}` : `Check roles.${role}.model.`;
    case "timeout":
    case "rate-limited":
    case "server-error":
    case "empty":
      return "Send it again in a while.";
    case "cut-off":
    case "cut-by-length":
    case "filtered":
      return "Nothing was run. Send it again.";
    case "unauthorized":
    case "no-key":
      return `Put the right key into the variable that providers.${provider || "<name>"}.api_key names.`;
    case "context-too-long":
      return "Shorten it, or begin anew with /new.";
    case "not-configured":
      return `Configure roles.${role} and providers (see: picoclaw doctor, picoclaw config show).`;
    case "refused-remote":
      return "For coding alone, send /code3 and the like.";
    case "over-budget":
      return "Raise budget.daily, or send this again tomorrow.";
    case "deadline":
      return `${role.startsWith("coder") ? "coder.max_minutes" : "loop.max_millis"} sets it.`;
    default:
      return "";
  }
}

function reason(code: ModelTrouble, detail: string): string {
  if (code === "deadline") return "the time limit was reached";
  if (code === "cut-by-length") return "the answer was cut at its longest (max_tokens)";
  if (code === "filtered") return "its provider's filter stopped the answer";
  return code === "over-budget" ? `today's budget is spent (${detail})` : detail;
}

function trouble(code: ModelTrouble, asked: AskedModel, detail: string): string {
  if (code === "aborted") return "Stopped.";
  const why = reason(code, detail);
  // The model's own message often says what helps.
  const help = detail.includes("→") ? "" : hint(code, asked);
  return `${asked.agent} could not answer: ${why}${help === "" ? "" : `\n→ ${help}`}`;
}

export const chatTexts = {
  // A coder's job
  /** A job, or a group of several. */
  riskNote: (risk: string) => `Risk: ${risk}`,
  proposalUnusable: (detail: string) =>
    `The proposal could not be carried out; nothing was changed.\n${detail}`,
  sentBack: (attempt: number, of: number, brief: string) => `Attempt ${attempt} of ${of}: ${brief} → mending`,
  joins: "A coder is at work; this joins its next round.",
  giveToCoder: "Give to a coder",
  steered: "The coder takes what you wrote into its next round.",
  planHint: "Nothing was changed. To carry this plan out: go",
  goLabel: "Go",
  stillRed: (red: RedReason, brief: string): string => `${STILL_RED[red]}: ${brief}`,
  draftDropped: (red: RedReason, attempts: number): string =>
    `${DROPPED[red]}\nThe draft was thrown away after ${attempts === 1 ? "1 attempt" : `${attempts} attempts`} (coder.on_red: discard).`,
  attemptsTaken: (attempts: number, tried: readonly string[]) =>
    `Attempts: ${attempts}. Tried before: ${tried.join(" / ")}`,
  triedBefore: (tried: readonly string[]) => `Tried before: ${tried.join(" / ")}`,
  coderStopped: {
    attempts: (limit: number) => `Not green after ${limit} attempts (coder.attempts).`,
    same: "The same failure came twice; the coder does not get further.",
    gaveUp: "The coder had nothing more to propose.",
  },
  heads,
  headsAlone: "Several coders were asked for; only one can work here (keys, /dry, or no drafts).",
  coderBudget: (usd: number) => `What one message may cost is spent (coder.budget_usd: $${usd.toFixed(2)}).`,
  coderCost: (usd: number, hint: string) =>
    `Cost: $${usd.toFixed(4)}${hint === "" ? "" : ` (estimated: ${hint})`}`,
  needsFiles: (paths: readonly string[]) => `Reading more files: ${paths.join(", ")}`,
  mcpPartly: ({
    succeeded,
    total,
    error,
  }: {
    readonly succeeded: number;
    readonly total: number;
    readonly error: string;
  }) =>
    `Applied, ${total - succeeded === 1 ? "1 command" : `${total - succeeded} commands`} failed (${succeeded}/${total} commands succeeded). Failed: ${error}`,
  mcpCompleted: ({ succeeded, total }: { readonly succeeded: number; readonly total: number }) =>
    `Applied (${succeeded}/${total} commands succeeded)`,
  webRead: (hosts: readonly string[]) =>
    `Read from the web: ${hosts.join(", ")}. That others were asked cannot be taken back.`,
  browserNotUndoable: "What was done in the browser or at other services cannot be taken back.",
  browserMissing:
    "This proposal needs a browser, but mcp_servers.browser is not configured. Configure it and send this again.",
  mcpUnavailable: (server: string, detail: string) => `MCP server ${server} cannot be used: ${detail}`,
  noPreview: "There is no preview to apply.",

  // Models
  modelTrouble: trouble,
  retrying: (attempt: number, seconds: number, why: string) => `Retry ${attempt} in ${seconds} s: ${why}`,
  compacted: "That was too long; trying once more with less history and fewer files.",
  budget: ({ kind, spentUsd, dailyUsd, model }: BudgetWords): string => {
    const facts = `$${spentUsd.toFixed(2)} of $${dailyUsd.toFixed(2)}`;
    switch (kind) {
      case "warn":
        return `Little is left of today's budget (${facts}).`;
      case "local":
        return `Today's budget is spent; the local model ${model ?? ""} answered (${facts}).`;
      case "unpriced":
        return `Nobody said what ${model ?? ""} costs, so the budget does not count it: add it to budget.prices.`;
    }
  },
  stoodIn: ({ asked, answered, model, code }: StandInWords): string =>
    `Note: ${asked} could not answer (${code}); ${answered} (${model}) answered in its place (coder.fallback).`,
  cutOver: (sessionId: string) =>
    `A new day, a new session (${sessionId}); what matters of the one before is carried over. To go back: /resume`,
  answerGoesOn: "The answer reached its longest; the coder goes on from there.",
  coderWorks:
    "Two ways out: a local model (https://ollama.com/download), or picoclaw init, where you may let the cloud talk too. Changes to files need neither: /code …",
  insteadOf: (wanted: string, model: string) =>
    `Note: ${wanted} is not installed, so ${model} answers. picoclaw init settles it.`,
  answerCut: "Note: the answer was cut at its longest (max_tokens).",
  cloudAnswered: (model: string) => `Note: this answer came from a cloud model (${model}).`,
  askRoute: (route: string) => `Ask ${route}`,
  rerouted: (from: string, to: string) => `Handed over from ${from} to ${to}.`,
  loopLimit: (loops: number) => `The limit was reached (loop.max_loops: ${loops}); this is how far it came.`,
  timeLimit: (seconds: number) =>
    `The time limit was reached (loop.max_millis: ${seconds} s); this is how far it came.`,
  /** The same call of a tool failed again and again. */
  stuck: (tool: string) => `The same call of ${tool} failed again and again; this is how far it came.`,

  // Commands
  noJobs: "There are no jobs yet.",
  otherChatsJobs: (direction: "undo" | "redo") =>
    `There are jobs of other chats and of the command line: /jobs lists them, /${direction} JOB ${direction === "undo" ? "takes one of them back" : "brings one of them in again"}.`,
  dryState: (on: boolean): string =>
    on ? "Dry mode: on (proposals are shown, not run)" : "Dry mode: off (proposals run at once)",
  dryUsage: "Usage: /dry on or /dry off",
  previewUsage: "Usage: /preview REQUEST (really runs the change aside and shows it; /apply brings it in)",
  stopped: "Stopped what was running.",
  nothingRuns: "Nothing is running.",
  waitedForNothing:
    "Nothing to take back: the message that /undo waited for changed nothing. Earlier jobs stay; /undo now takes back the last of them.",
  noDiff: "There are no differences.",
  diffCut: (lines: number) => `… ${lines} more lines`,
  unknownCommand: (name: string, nearest: string | null) =>
    `Unknown command: /${name}${nearest === null ? "" : ` (did you mean /${nearest}?)`}\nAll of them: /help`,
  ...rewind,
  ownHidden: (file: string, name: string) =>
    `${file} is not used: /${name} is a command of PicoClaw. Give the file another name.`,
  ownTrouble: (file: string, trouble: OwnTrouble): string => {
    switch (trouble.why) {
      case "route":
        return `${file}: there is no route ${trouble.route}; it is routed like any other message. Routes: ${ROUTES.join(", ")}`;
      case "unclosed":
        return `${file}: its head is not closed with ---, so that it counts as text.`;
      case "line":
        return `${file}: this field of its head cannot be read: ${trouble.line}`;
    }
  },
  commandUntrusted: (name: string) =>
    `/${name} is a command of this folder, and the folder is not trusted, or not with the commands and skills that it has now. Read .picoclaw/ there, then run: picoclaw trust`,
  help: [
    ["/chat /plan", "talk or plan with Mio"],
    ["/analyze /ops /research", "Shiro looks into it or operates"],
    ["/code /code1 /code2 /code3", "a coder writes it and it runs at once (Aka, Ao, Gin)"],
    ["/code plan REQUEST", "a coder plans and changes nothing; go carries it out"],
    ["/code all REQUEST", "every coder tries it in a draft of its own; the best one lands"],
    ["/preview REQUEST", "show the change first, then /apply or /discard"],
    ["/undo [job]", "take back the last change, or that job"],
    ["/redo", "bring it in again"],
    ["/rewind [N]", "go back to a message: what came after it is taken back and forgotten"],
    ["/jobs /diff [job]", "the jobs, and what one changed"],
    ["/dry on|off", "show proposals, run nothing"],
    ["/why /route X", "why this route; teach the right one"],
    ["/usage", "tokens and cost"],
    ["/new /resume", "begin anew, go back to the earlier conversation"],
    ["/notes /memo", "read and forget what is remembered; keep something in mind by name"],
    ["/stop", "stop what is running"],
    ["/help", "this list"],
  ] as readonly (readonly [command: string, what: string])[],

  // The message itself
  emptyMessage: "The message is empty.",
  messageTooLong: (limit: string) =>
    `The message is too long (limit ${limit}). Save it as a file and name that.`,
  aborted: "Stopped.",
  diskFull: "No space left on the disk. Free some disk space, then send the message again.",
  unexpected: (detail: string) => `An unexpected error occurred: ${detail}`,

  // The terminal
  progress: coderProgress,
  doing: (what: WhatIsDoing, detail: string): string => {
    switch (what) {
      case "waiting":
        return `waiting (${detail} ahead)`;
      case "deciding":
        return "choosing who answers";
      case "thinking":
        return `${detail} is thinking`;
      case "running":
        return `running ${detail}`;
      case "tool":
        return `tool ${detail}`;
    }
  },
  /** Above a conversation: where it works, and with whom. */
  banner: (folder: string, chat: string | null, coder: string | null, name: string) =>
    [
      `PicoClaw in ${folder}${name === "" ? "" : ` · chat ${name}`}`,
      `talk: ${chat ?? "nobody yet (picoclaw init)"} · code: ${coder ?? "nobody yet (picoclaw init)"}`,
    ] as readonly string[],
  badChatName: (name: string) => `${name} is no name for a chat: letters, digits, - and _, 40 at most.`,
  noSuchChat: (name: string) => `Nothing was said in the chat ${name} in this folder.`,
  chatTaken: (name: string) => `The chat ${name} has begun already. Name another one: --name`,
  chatForgotten: (name: string) => `The chat ${name} was forgotten. Its jobs stay: picoclaw jobs`,
  chatBusy: (name: string) => `Somebody is speaking in the chat ${name}. Try again when it has ended.`,
  noChats: "There are no chats yet. Begin one: picoclaw chat --name NAME",
  chatsHeader: { name: "chat", at: "last", messages: "messages", said: "said last", workspace: "workspace" },
  welcome: "/help lists the commands, Ctrl-C stops, Ctrl-D ends",
  goodbye: "Bye.",
  stopHint: "stopping… Ctrl-C again ends the program",
  footer: ({
    model,
    local,
    tokens,
    costUsd,
  }: {
    readonly model: string;
    readonly local: boolean;
    readonly tokens: number;
    readonly costUsd: number;
  }) =>
    `${model} (${local ? "local" : "cloud"}) · ${tokens} tokens${costUsd > 0 ? ` · $${costUsd.toFixed(4)}` : ""}`,
  actions: { undo: "Undo", redo: "Redo", diff: "Diff", apply: "Apply", jobs: "Jobs" },
};
