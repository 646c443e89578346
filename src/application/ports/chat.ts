/**
 * What is kept of a chat: its sessions, their turns, the notes of past days, and settings that outlive a session.
 *
 * Everything is looked up by the chat's key, so no chat sees another's. A row that cannot be read is never given out
 * and never throws: it is left out and counted as `damaged`. Several processes may use it at once.
 */
export interface SessionStore {
  /** The open session of a chat; null when there is none, or none that can be read. */
  current(chatKey: string): Promise<{ readonly session: Session | null; readonly damaged: number }>;
  find(chatKey: string, sessionId: string): Promise<Session | null>;
  /** Newest first, the open one too. */
  list(chatKey: string, limit: number): Promise<Session[]>;
  /** Open sessions whose time has come, oldest first. */
  due(now: Date, limit: number): Promise<Session[]>;
  /**
   * Opens a session and closes `from`, in one step. Otherwise nothing is done: `moved` when another one than `from`
   * is open by now, `taken` when there is a session of that id. `from` is null when none is thought to be open; an
   * open one that cannot be read is closed whatever `from` says.
   */
  open(next: NewSession, from: string | null): Promise<"opened" | "moved" | "taken">;
  /** Closes `from` and opens the older one again; the turns of `from` move to its end. False: nothing was done. */
  reopen(chatKey: string, sessionId: string, from: string, cut: CutTime): Promise<boolean>;
  /** Another time of cut-over for an open session. */
  setCut(chatKey: string, sessionId: string, cut: CutTime): Promise<void>;

  append(chatKey: string, sessionId: string, turns: readonly NewTurn[]): Promise<void>;
  /** In order, from position `after` on (exclusive; 0 is the beginning). */
  turns(
    chatKey: string,
    sessionId: string,
    range: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly turns: Turn[]; readonly damaged: number }>;
  /** The last ones after a position, in order. */
  lastTurns(
    chatKey: string,
    sessionId: string,
    limit: number,
    after: number,
  ): Promise<{ readonly turns: Turn[]; readonly damaged: number }>;
  /** Left as it is when the one that is kept reaches further. */
  saveSummary(chatKey: string, sessionId: string, summary: Summary): Promise<void>;

  /** One note a session; saving it again replaces it. */
  saveNote(note: DailyNote): Promise<void>;
  note(chatKey: string, sessionId: string): Promise<DailyNote | null>;
  /** Newest first. */
  notes(chatKey: string, limit: number): Promise<DailyNote[]>;
  /** False when there is none such. */
  removeNote(chatKey: string, sessionId: string): Promise<boolean>;
  /** Forgets what a session carries from before, and its running summary; its turns stay. */
  clearSummary(chatKey: string, sessionId: string): Promise<void>;

  /**
   * Takes the turns after a position out of a session and keeps them under a name of their own; a running summary that
   * covers one of them is forgotten. Positions are never given out twice.
   */
  setAside(chatKey: string, sessionId: string, after: number, name: string): Promise<void>;
  /** Puts what was kept under that name back where it was. */
  putBack(chatKey: string, sessionId: string, name: string): Promise<void>;

  settings(chatKey: string): Promise<ChatSettings>;
  saveSettings(chatKey: string, change: Partial<ChatSettings>): Promise<void>;
}

export interface Session {
  /** `<channel>:<chatId>`. */
  readonly chatKey: string;
  /** `YYYYMMDD-<channel>-<chatId>`, the second of a day with `.2` at its end. */
  readonly id: string;
  readonly channel: string;
  readonly chatId: string;
  readonly openedAt: string;
  readonly closedAt: string | null;
  readonly cut: CutTime;
  /** What the session before left behind. */
  readonly carried: string;
  readonly summary: Summary;
  /** How many turns it has: the position of the last one. */
  readonly turns: number;
}

export type NewSession = Pick<
  Session,
  "chatKey" | "id" | "channel" | "chatId" | "openedAt" | "cut" | "carried"
>;

/** When a session ends, and by which clock that was reckoned (`Asia/Tokyo 00:00`). */
export interface CutTime {
  readonly at: string;
  readonly clock: string;
}

/** The running summary of the turns up to and including position `upTo`. */
export interface Summary {
  readonly text: string;
  readonly upTo: number;
}

export interface NewTurn {
  readonly at: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  /** Who spoke: `Mio`, `Gin`; empty for the user. */
  readonly agent: string;
  /** The jobs of this message. */
  readonly groupId: string | null;
}

export interface Turn extends NewTurn {
  /** From 1. */
  readonly position: number;
}

export interface DailyNote {
  readonly chatKey: string;
  readonly sessionId: string;
  readonly text: string;
  /** How many turns it covers. */
  readonly turns: number;
  readonly savedAt: string;
}

export interface ChatSettings {
  /** `/dry on`: jobs are listed, not run. */
  readonly dry: boolean;
  /** What a user keeps by name, session by session. */
  readonly memory: Readonly<Record<string, SessionMemory>>;
  /** What `/rewind` took back, the last one last. */
  readonly rewound: readonly Rewound[];
}

/** Turns that were set aside, and the jobs that were swapped with them, in that order. */
export interface Rewound {
  readonly sessionId: string;
  readonly name: string;
  readonly jobIds: readonly string[];
  /** Those of them that were brought in again; the others were taken back. */
  readonly again: readonly string[];
}

/** Names and values of one session. */
export type SessionMemory = Readonly<Record<string, string>>;
