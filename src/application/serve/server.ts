import type { ServeMessages } from "../../domain/texts/serve.ts";
import type { AccessStore } from "../ports/serve.ts";
import type { SignIn } from "./access.ts";

/** The server and everything that it runs; nothing listens until it is asked to. */
export interface Server {
  readonly words: () => ServeMessages;
  readonly access: AccessStore;
  readonly signIn: SignIn;
  /** The `host:port` at which a server of this home listens just now, in whatever process; null when none does. */
  liveAddress(): string | null;
  /** Rejects with a `code` when the address cannot be had. */
  listen(options: ListenOptions): Promise<RunningServer>;
  /** Works without listening. Rejects with the `code` "machine" when another machine has this one's id. */
  join(options: JoinOptions): Promise<JoinedFleet>;
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly log: (text: string) => void;
}

export interface JoinOptions {
  /** Beside what is known of the machine. */
  readonly labels: readonly string[];
  /** Messages, and tasks, at once. */
  readonly concurrency: number;
  readonly log: (text: string) => void;
}

export interface JoinedFleet extends Pick<RunningServer, "reload" | "stop"> {
  readonly machineName: string;
  readonly labels: readonly string[];
}

export interface RunningServer {
  readonly url: string;
  /** Null, or why the old configuration stays. */
  reload(): Promise<string | null>;
  /** Takes nothing new, finishes or hands back what runs; at most thirty seconds. */
  stop(): Promise<void>;
}
