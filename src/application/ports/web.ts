import type { Config, SettingEdit } from "../../config/config.ts";
import type { CompareResult } from "../history/compare.ts";
import type { DailyNote, NewTurn, Session } from "./chat.ts";
import type { EnvironmentReader } from "./containers.ts";
import type { Chat } from "./serve.ts";
import type { TaskReader } from "./tasks.ts";

/**
 * Readers of what the console shows of other parts of PicoClaw, called when a page is viewed. None rejects for want of data; one is absent
 * where its part is not set up.
 */
export interface ConsoleSources {
  readonly sessions?: SessionReader;
  readonly tasks?: TaskReader;
  readonly environments?: EnvironmentReader;
  readonly comparisons?: ComparisonReader;
}

export interface ComparisonReader {
  /** Newest first. */
  list(limit: number): readonly CompareResult[];
}

export interface SessionReader {
  /** Of these chats (`<channel>:<chatId>`), newest first. */
  list(keys: readonly string[], limit: number): Promise<readonly Session[]>;
  /** The notes that the cut-overs of past days left; newest first. */
  notes(keys: readonly string[], limit: number): Promise<readonly DailyNote[]>;
  /** Chats at the terminals of this machine, named and unnamed, about the served workspace; newest first. */
  terminalChats(limit: number): Promise<readonly Chat[]>;
  /** The end of the last session of a chat, oldest first; for chats whose messages did not pass through this server. */
  lastTurns(key: string, limit: number): Promise<readonly NewTurn[]>;
}

/** The configuration while serving: the settings in effect, and the one file that the console may write. */
export interface SettingsStore {
  read(): Promise<SettingsRead>;
  /** Writes these values into the file, all or none, comments kept, and has the server use them. Null, or why the file is unchanged. */
  change(edits: readonly SettingEdit[]): Promise<string | null>;
  /** The facts that a person reads before trusting the served folder, and the folders that are trusted now. */
  trust(): TrustState;
  /** Trusts the served folder with the shown content; null, or why not. */
  trustSeen(seen: string): Promise<string | null>;
  distrust(folder: string): Promise<string | null>;
  modelNames(): Promise<readonly string[]>;
  /** When a rule would next be due; null: the rule is invalid or never due. */
  nextTime(cron: string, timezone: string): Promise<Date | null>;
}

export interface SettingsRead {
  readonly file: string;
  readonly config: Config;
  /** The variable, the flag or the workspace's own file that sets a key so that the file cannot; null: none. */
  readonly lockedBy: (key: string) => string | null;
}

export interface TrustState {
  readonly workspace: string;
  readonly trusted: boolean;
  /** Its `picoclaw.yaml`; null: it has none. */
  readonly text: string | null;
  readonly commands: readonly { readonly path: string; readonly text: string }[];
  /** A digest of all of that as it was shown. */
  readonly seen: string;
  readonly folders: readonly { readonly workspace: string; readonly at: string }[];
}
