import type { HeadName } from "../../domain/config/configured-kinds.ts";
import type { TaskUsage } from "../../domain/models/model-facts.ts";
import type { HeadTrouble } from "../../domain/texts/heads.ts";
import type { HeadProcess } from "./jobs-head.ts";

/** The messages of an agent's CLI while it works. */
export type WorkerProgress =
  /** `grown`: it is the text before it and more. */
  | { readonly kind: "text"; readonly text: string; readonly grown?: boolean }
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "edit"; readonly path: string }
  | { readonly kind: "tool"; readonly name: string }
  | {
      readonly kind: "trouble";
      readonly code: "unauthorized" | "unreachable" | "other";
      readonly text: string;
    };

/** The user's own agents that may work in place of a coder's model, in the sandbox of a draft. PicoClaw installs and signs in to none. */
export interface Heads {
  /** Those that can be named, in the order of offering. */
  list(): readonly HeadFacts[];
  /** Finds the program and the login, and takes the chat's session, which the caller closes. If it is refused, nothing has run. */
  open(request: HeadRequest): Promise<OpenedHead>;
  /** Forgets the sessions and homes of a chat; one at work keeps its own. */
  forget(sessionKey: string): void;
}

export interface HeadFacts {
  readonly name: HeadName;
  /** Why it cannot be used now; null if it can. */
  readonly trouble: HeadTrouble | null;
}

export interface HeadRequest {
  readonly name: HeadName;
  /** `<channel>:<chat>`. */
  readonly sessionKey: string;
  /** Masked. Must not throw. */
  readonly onProgress: (progress: WorkerProgress) => void;
}

export type OpenedHead =
  | { readonly ok: true; readonly head: Head }
  | { readonly ok: false; readonly trouble: HeadTrouble };

/** An agent for one message. Its turns follow each other in one session. */
export interface Head {
  readonly name: HeadName;
  /** Of its program; empty if unknown. */
  readonly version: string;
  /** Whether the next turn continues a session that knows the earlier messages. */
  resumes(): boolean;
  /** Prepares a turn. The caller runs its process once and always calls `finish`. */
  begin(message: string): Promise<HeadTurn>;
  /** Idempotent. */
  close(): Promise<void>;
}

export interface HeadTurn {
  readonly process: HeadProcess;
  /** Closes the access to the key, stores the session, and returns how the turn ended. */
  finish(): Promise<HeadEnd>;
}

export interface HeadEnd {
  /** Its last words, masked. */
  readonly summary: string;
  readonly usage: TaskUsage;
  /** Why it did not do what it could. */
  readonly trouble: HeadTrouble | null;
}
