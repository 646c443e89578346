/**
 * Who may do what. Secrets are kept as SHA-256 of themselves only; each is 256 bits of chance, so that needs no salt.
 */
export interface AccessStore {
  // People of LINE, Slack and the web.
  person(channel: string, userId: string): Promise<Person | null>;
  people(): Promise<Person[]>;
  savePerson(person: Person): Promise<void>;
  removePerson(channel: string, userId: string): Promise<boolean>;
  // Pairing: a stranger gets a code, an operator confirms it.
  savePairing(pairing: Pairing): Promise<void>;
  pairings(now: string): Promise<Pairing[]>;
  /** Takes it out; null when there is none or it is too old. */
  takePairing(code: string, now: string): Promise<Pairing | null>;
  // Login links and browser sessions of the console.
  saveLink(link: LoginLink): Promise<void>;
  /** Once only, however many ask at once. */
  takeLink(hash: string, now: string): Promise<LoginLink | null>;
  saveSession(session: WebSession): Promise<void>;
  session(hash: string, now: string): Promise<WebSession | null>;
  /** Those that are open, newest first. */
  sessions(now: string): Promise<WebSession[]>;
  removeSession(hash: string): Promise<void>;
  // Tokens of programs.
  saveToken(token: ApiToken): Promise<void>;
  tokens(): Promise<ApiToken[]>;
  token(hash: string): Promise<ApiToken | null>;
  touchToken(id: string, at: string): Promise<void>;
  removeToken(id: string): Promise<boolean>;
  /** Forgets links, sessions and pairings whose time is over. */
  prune(now: string): Promise<void>;
}

/** Operators see and do everything; users see what they caused themselves. */
export type Role = "operator" | "user";

export interface Person {
  readonly channel: string;
  readonly userId: string;
  readonly name: string;
  readonly role: Role;
  readonly addedAt: string;
}

export interface Pairing {
  readonly code: string;
  readonly channel: string;
  readonly userId: string;
  readonly chatId: string;
  readonly name: string;
  readonly expiresAt: string;
}

export interface LoginLink {
  readonly hash: string;
  readonly userId: string;
  readonly role: Role;
  readonly expiresAt: string;
}

export interface WebSession {
  readonly hash: string;
  readonly userId: string;
  readonly role: Role;
  /** Every change must carry it. */
  readonly csrf: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export const SCOPES = ["read", "chat", "jobs", "mcp"] as const;
/** `read`: look; `chat`: send messages; `jobs`: apply, undo, redo, stop; `mcp`: the tools at /mcp. */
export type Scope = (typeof SCOPES)[number];

export interface ApiToken {
  readonly id: string;
  readonly hash: string;
  readonly name: string;
  readonly userId: string;
  readonly role: Role;
  readonly scopes: readonly Scope[];
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}
