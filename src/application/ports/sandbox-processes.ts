import type { NetworkTraffic, StartedBy } from "./jobs-transaction.ts";

/**
 * The background processes of a workspace, such as a dev server. Each runs over the live folder under a name and outlives what
 * started it. Its writes are not a job: they cannot be undone, and a job that lands beside it merges with them as with a person's.
 * Expected failures are values. Any number of programs see the same processes.
 */
export interface WorkspaceProcesses {
  /** Starts one and waits until it listens, has lived for a second, or has ended; an end with an error is a failure with its last lines. */
  start(request: ProcessStart): Promise<ProcessStarted>;
  /** Those that run, and those that ended since they were last started, oldest first. Settles processes that a crash left. */
  list(): Promise<readonly BackgroundProcess[]>;
  /** The end of its output; null: there is no such process. */
  log(name: string, lines: number): Promise<ProcessLog | null>;
  /** Ends everything of it. Harmless for one that has ended. */
  stop(name: string): Promise<ProcessStopped>;
  /** Ends it, if it runs, and starts the same command again. */
  restart(name: string): Promise<ProcessStarted>;
  /** Forgets those that have ended, with their logs; says how many. */
  forgetEnded(): Promise<number>;
}

export interface ProcessStart {
  /** One line for the shell. */
  readonly command: string;
  readonly startedBy: StartedBy;
  /** Default: made from the command. */
  readonly name?: string;
  /** The port that it will listen on; it finds the number as `PORT`. Refused if another process listens there. */
  readonly port?: number;
  /**
   * A waiting preview: the process sees the folder with it, writes nothing to the folder itself, and ends when the preview is applied
   * or thrown away. Without a port of its own it is given a free one.
   */
  readonly over?: string;
  /** Starts again after each job that lands, and after each undo. */
  readonly restartsOnLanding?: boolean;
  /** Does not end with the program that starts it. Default: `processes.keep`. */
  readonly keeps?: boolean;
}

export interface BackgroundProcess {
  readonly name: string;
  /** Marks everything that it starts. */
  readonly id: string;
  readonly command: string;
  readonly startedBy: StartedBy;
  /** The folder of its workspace. */
  readonly root: string;
  readonly startedAt: string;
  readonly state: ProcessState;
  /** Ports of this machine's loopback that reach it now: its own, or those that lead into its own network (`worker.network`). */
  readonly ports: readonly number[];
  /** The port that was asked for. */
  readonly port: number | null;
  readonly endsWithProgram: boolean;
  readonly restartsOnLanding: boolean;
  /** The preview over which it runs; null: the live folder. */
  readonly over: string | null;
  readonly runs: number;
  /** `limited`: it can write to the workspace alone, but sees more of the machine. Null before it runs. */
  readonly confinement: ProcessConfinement | null;
  /** Hooks and settings of git directories that appeared below the folder since it started: the user's next git command would obey them. */
  readonly plantedGit: readonly string[];
  /** If the folder is a home or holds one: names that appeared there since it started, and that programs of the user run or obey. */
  readonly plantedHome: readonly string[];
  /** Hosts that it reached and that were refused since it started, where its network has a list. */
  readonly traffic: NetworkTraffic;
}

export type ProcessConfinement = "confined" | "limited" | "none";

export type ProcessState =
  | { readonly kind: "starting" }
  | { readonly kind: "running" }
  /** Of another machine or container that shares this home: its state is unknown here, and it cannot be ended here. */
  | { readonly kind: "elsewhere" }
  | ({ readonly kind: "ended" } & ProcessEnd);

export interface ProcessEnd {
  readonly at: string;
  readonly why: ProcessEndReason;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Why it was never started. */
  readonly message?: string;
}

export type ProcessEndReason =
  | "exited"
  | "stopped"
  | "program-ended"
  | "workspace-gone"
  /** The preview that it ran over was applied or thrown away. */
  | "preview-over"
  /** PicoClaw's own process beside it was killed. */
  | "lost"
  | "not-started";

export type ProcessStarted = { readonly ok: true; readonly process: BackgroundProcess } | ProcessNotStarted;

export type ProcessNotStarted = { readonly ok: false } & (
  | { readonly why: "empty-command" }
  | { readonly why: "bad-name"; readonly name: string }
  | { readonly why: "unknown"; readonly name: string }
  | { readonly why: "name-taken"; readonly name: string }
  | { readonly why: "no-preview"; readonly jobId: string }
  | { readonly why: "limit"; readonly most: number }
  /** `holder`: the process of ours that listens there. */
  | { readonly why: "port-taken"; readonly port: number; readonly holder: string | null }
  /** It could not be started, or ended at once. */
  | { readonly why: "ended"; readonly process: BackgroundProcess; readonly lastLines: string }
  /** The configuration asks for a confinement that this machine cannot give. */
  | { readonly why: "not-confined" }
  | { readonly why: "busy" }
);

export type ProcessStopped =
  | { readonly status: "stopped"; readonly process: BackgroundProcess }
  | { readonly status: "not-running"; readonly process: BackgroundProcess }
  /** Something of it could not be ended. */
  | { readonly status: "survived"; readonly process: BackgroundProcess }
  | { readonly status: "unknown"; readonly name: string };

export interface ProcessLog {
  readonly process: BackgroundProcess;
  readonly text: string;
  /** There was more that is not kept or not shown. */
  readonly cut: boolean;
}
