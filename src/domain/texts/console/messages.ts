import type { Locale } from "../messages.ts";

/** Every word of the web console. */
export interface ConsoleMessages {
  readonly locale: Locale;
  readonly appName: string;
  readonly skipToContent: string;
  readonly nav: Readonly<
    Record<
      "chat" | "jobs" | "playground" | "tasks" | "sessions" | "usage" | "system" | "more" | "main",
      string
    >
  >;
  readonly language: string;
  readonly theme: string;
  readonly themes: Readonly<Record<"auto" | "light" | "dark", string>>;
  readonly logout: string;
  readonly signedInAs: (name: string, role: "operator" | "user") => string;
  readonly demoBanner: string;
  readonly connectionLost: string;
  // Login.
  readonly loginTitle: string;
  readonly loginNeeded: string;
  readonly loginHow: string;
  readonly loginUsed: string;
  readonly loginOpening: string;
  readonly loginContinue: string;
  // Trouble.
  readonly notFoundTitle: string;
  readonly notFound: string;
  readonly forbiddenTitle: string;
  readonly forbidden: string;
  readonly stale: string;
  readonly brokenTitle: string;
  readonly broken: string;
  readonly back: string;
  // Chat.
  readonly chatTitle: string;
  readonly chatEmptyTitle: string;
  readonly chatEmpty: string;
  readonly chatExamples: readonly string[];
  readonly newChat: string;
  readonly chats: string;
  readonly messageLabel: string;
  readonly messagePlaceholder: string;
  readonly send: string;
  readonly attach: string;
  readonly sendHint: string;
  readonly you: string;
  readonly waiting: string;
  readonly working: string;
  readonly stopAnswer: string;
  readonly notSent: string;
  readonly messageTooLong: (characters: number) => string;
  readonly olderMessages: string;
  readonly notDelivered: string;
  readonly modelFooter: (model: string, where: "local" | "cloud") => string;
  readonly tokens: (input: number, output: number) => string;
  readonly replyJob: (changes: number, success: boolean) => string;
  readonly chatEvents: {
    readonly decided: (route: string) => string;
    readonly thinking: (agent: string) => string;
    readonly proposed: (commands: number) => string;
    readonly jobStarted: string;
    readonly jobFinished: string;
    readonly tool: (name: string) => string;
  };
  // Jobs.
  readonly jobsTitle: string;
  readonly jobsEmptyTitle: string;
  readonly jobsEmpty: string;
  readonly jobsMore: (limit: number) => string;
  readonly jobStates: Readonly<Record<JobTone, string>>;
  readonly untitled: string;
  readonly commandCount: (count: number) => string;
  readonly changeCount: (count: number) => string;
  readonly changeKinds: Readonly<Record<"added" | "modified" | "deleted", string>>;
  readonly undo: string;
  readonly undoForce: string;
  readonly redo: string;
  readonly applyPreview: string;
  readonly stopJob: string;
  readonly facts: Readonly<
    Record<
      "job" | "started" | "finished" | "took" | "source" | "workspace" | "kind" | "commit" | "undo",
      string
    >
  >;
  readonly undoStates: Readonly<Record<"available" | "unavailable" | "none" | "undone", string>>;
  readonly changesTitle: string;
  readonly noChanges: string;
  readonly viewInline: string;
  readonly viewSplit: string;
  readonly diffCaption: string;
  readonly diffNotes: Readonly<Record<"binary" | "unknown" | "too-large" | "cut", string>>;
  readonly timelineTitle: string;
  readonly liveTitle: string;
  readonly timeline: {
    readonly started: (kind: string) => string;
    readonly autoCommit: (moment: "before" | "after", commit: string | null) => string;
    readonly staged: (changes: number) => string;
    readonly committed: (changes: number) => string;
    readonly conflict: string;
    readonly rolledBack: (reason: string) => string;
    readonly undone: (changes: number) => string;
    readonly redone: (changes: number) => string;
    readonly evicted: string;
    readonly output: string;
  };
  readonly commandKinds: Readonly<Record<"file_edit" | "shell_command" | "git_operation", string>>;
  readonly moreFiles: (count: number) => string;
  // Playground.
  readonly playgroundTitle: string;
  readonly playgroundIntro: string;
  readonly patchLabel: string;
  readonly patchPlaceholder: string;
  readonly parse: string;
  readonly preview: string;
  readonly apply: string;
  readonly atomic: string;
  readonly examples: string;
  readonly formats: Readonly<
    Record<"empty" | "json" | "markdown" | "diff" | "v4a" | "search-replace" | "mixed", string>
  >;
  readonly parsedAs: (format: string, commands: number) => string;
  readonly notAPatch: string;
  readonly atLine: (line: number) => string;
  readonly emptyPatch: string;
  readonly previewReady: string;
  readonly operatorsOnly: string;
  // Tasks and environments.
  readonly tasksTitle: string;
  readonly tasksEmptyTitle: string;
  readonly tasksEmpty: string;
  readonly environmentsTitle: string;
  readonly environmentsEmptyTitle: string;
  readonly environmentsEmpty: string;
  // Sessions.
  readonly sessionsTitle: string;
  readonly sessionsEmptyTitle: string;
  readonly sessionsEmpty: string;
  readonly notesTitle: string;
  readonly notesEmpty: string;
  readonly messagesCount: (count: number) => string;
  readonly turnsCount: (count: number) => string;
  readonly daysTitle: string;
  // Usage.
  readonly usageTitle: string;
  readonly usageEmptyTitle: string;
  readonly usageEmpty: string;
  readonly usageTokens: string;
  readonly usageCost: string;
  readonly usageReplies: string;
  readonly usageLocal: string;
  readonly usageCloud: string;
  readonly usageChart: (what: string, days: number) => string;
  readonly columns: Readonly<
    Record<
      "day" | "model" | "replies" | "input" | "output" | "cost" | "key" | "value" | "source" | "state",
      string
    >
  >;
  // System.
  readonly systemTitle: string;
  readonly healthTitle: string;
  readonly allWell: string;
  readonly notAllWell: (count: number) => string;
  readonly healthNames: Readonly<Record<string, string>>;
  readonly queue: (waiting: number, working: number, unsent: number) => string;
  readonly configTitle: string;
  readonly configIntro: string;
  readonly configChanged: string;
  readonly configAll: string;
  readonly configDefaults: string;
  readonly uptime: (seconds: number) => string;
}

export type JobTone =
  | "running"
  | "succeeded"
  | "failed"
  | "preview"
  | "undone"
  | "rolled-back"
  | "interrupted"
  | "evicted";
