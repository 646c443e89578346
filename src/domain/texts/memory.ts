import type { DecisionSource } from "../config/route.ts";
import type { RuleProblem } from "../chat/rule.ts";
import type { UsageLine } from "../chat/usage-line.ts";
import type { StoreTrouble } from "../store/store-trouble.ts";

export interface WhyFacts {
  readonly route: string;
  readonly source: DecisionSource;
  readonly confidence: number;
  readonly reason: string;
  readonly message: string;
  /** `provider/model`, those that answered. */
  readonly models: readonly string[];
  readonly corrected: string | null;
}

const SOURCES = {
  forced: "forced",
  explicit: "explicit command",
  rule: "rule dictionary",
  classifier: "classifier",
  fallback: "fallback",
} as const;

export const memoryTexts = {
  why: ({ route, source, confidence, reason, message, models, corrected }: WhyFacts) =>
    [
      `Route: ${route} (${SOURCES[source]}, confidence ${confidence.toFixed(2)})`,
      `Reason: ${reason}`,
      `Message: ${message}`,
      ...(models.length > 0 ? [`Models: ${models.join(", ")}`] : []),
      ...(corrected === null ? [] : [`Corrected to: ${corrected}`]),
      "If that is wrong, correct it: /route CODE",
    ].join("\n"),
  noDecision: "Nothing was decided in this chat yet.",
  routeUsage: (routes: readonly string[]) => `Name a route after /route: ${routes.join(" ")}`,
  corrected: (from: string, to: string) => `Route corrected: ${from} → ${to}`,
  offered: (pattern: string) =>
    `Decide like this from now on? /remember keeps the rule (pattern: ${pattern})`,
  notOffered:
    "No rule can be made of this message (it is too short, or a rule of the configuration goes before).",
  remembered: (pattern: string, route: string) =>
    `Remembered: ${pattern} → ${route} (/rules lists, /forget takes back)`,
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
  memoTooMuch: "That is too much: up to 50 names, of 60 characters, with values of 1,000.",
  forgotten: (pattern: string) => `Forgotten: ${pattern}`,
  ruleProblem(problem: RuleProblem): string {
    switch (problem.kind) {
      case "not-a-pattern":
        return `The rule "${problem.pattern}" is not used, it is no regular expression: ${problem.detail}`;
      case "catastrophic":
        return `The rule "${problem.pattern}" is not used, it could take for ever: ${problem.detail}`;
      case "example":
        return `The rule "${problem.pattern}" is not used, it ${problem.expected ? "does not match" : "matches"} its example "${problem.example}"`;
    }
  },

  newSession: (sessionId: string) =>
    `A new session begins: ${sessionId} (/resume goes back to the one before)`,
  newFailed: "The summary could not be saved, so the session stays as it is.",
  resumed: (sessionId: string, turns: number) => `The session goes on: ${sessionId} (${turns} turns)`,
  nothingToResume: "There is no session to go back to.",

  usageHeader: { today: "Today", chat: "This chat today", person: "Your chats today", days: "Last 7 days" },
  usageLine: ({ name, calls, inputTokens, outputTokens, costUsd }: UsageLine) =>
    `${name}: ${calls} calls, ${inputTokens} tokens in, ${outputTokens} out, $${costUsd.toFixed(4)}`,
  noUsage: "No model was used today.",
  budgetLine: (spent: number, daily: number) =>
    `Budget: $${spent.toFixed(4)} of $${daily} spent (${daily === 0 ? 100 : Math.round((spent / daily) * 100)} %)`,
  /** The store as a whole: `backup`, `restore`, `db copy`, `db forget`. */
  backedUp: (folder: string, rows: number) => `${folder}: ${rows} rows and the configuration`,
  undoNotBackedUp: (folders: readonly string[]) =>
    `Not in it, and to be kept with their workspaces: journals and undo data in\n${folders.map((one) => `  ${one}`).join("\n")}`,
  backupExists: (folder: string) => `${folder} is not empty. Name a new folder.`,
  filled: (rows: number) => `${rows} rows were written, read back and compared.`,
  storeInUse: (table: string) =>
    `Nothing was written: the store is in use (${table} has rows). Use a new PICOCLAW_HOME or an empty database.`,
  storeUnequal: (table: string) =>
    `Nothing was kept: what was read back from ${table} is not what was written.`,
  backupDamaged: (file: string) => `Nothing was written: ${file} is missing or not as it was made.`,
  backupOfOther: (version: string) =>
    `Nothing was written: the backup was made by version ${version}, whose tables are others. Restore it with that version, then upgrade.`,
  personForgotten: (who: string, rows: number) =>
    `${who}: ${rows} rows deleted. Jobs and their undo data stay in the workspace's storage.`,
  storeUnavailable: ({ kind, name, detail, damaged, newer, distrusted }: StoreTrouble) =>
    `The store cannot be opened: ${name} (${detail})\n${
      newer
        ? "A later version of PicoClaw has changed its tables. Upgrade PicoClaw on this machine."
        : kind === "sqlite"
          ? damaged
            ? "If the file is damaged, move it away: the record of conversations is lost with it, but every job can still be undone."
            : "Check its permissions and the free space there, or set PICOCLAW_HOME to a folder that can be written."
          : distrusted
            ? "The server's certificate does not fit. In database_url, the host must be a name in the certificate, and sslrootcert=FILE the certificate of who signed it."
            : "Check the address in database_url, and that the server runs."
    }`,
};
