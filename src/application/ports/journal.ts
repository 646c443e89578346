import type { PatchCommand } from "../../domain/patch/command.ts";
import type { Change } from "../../domain/jobs/result.ts";
import type { Note } from "../../domain/jobs/note.ts";

/** The append-only events of a job. Every string in them is masked before it is written. */
export type JobEvent =
  | {
      readonly type: "job_started";
      readonly workspace: string;
      readonly kind: string;
      readonly commands: number;
      readonly file_edits: number;
      readonly shell_commands: number;
      readonly git_operations: number;
    }
  | {
      readonly type: "command_started";
      /** Which attempt of a draft this was. */
      readonly attempt?: number;
      readonly index: number;
      readonly command: PatchCommand;
    }
  | {
      readonly type: "command_finished";
      readonly attempt?: number;
      readonly index: number;
      readonly success: boolean;
      readonly output: string;
      readonly error: string;
      readonly duration: number;
      readonly changes: readonly Change[];
      readonly notes: readonly Note[];
    }
  /** A judgement after the command was finished, at the latest at the seal: its result is this instead. */
  | {
      readonly type: "command_judged";
      readonly index: number;
      readonly success: boolean;
      readonly error: string;
    }
  | {
      readonly type: "check_finished";
      readonly attempt: number;
      readonly over: "draft" | "baseline";
      readonly command: string;
      /** Null when it did not end by itself. */
      readonly exit_code: number | null;
      /** Head and tail. */
      readonly output: string;
      readonly duration: number;
    }
  | {
      readonly type: "auto_commit";
      readonly moment: "before" | "after";
      readonly commit: string | null;
      readonly error?: string;
    }
  | { readonly type: "staged"; readonly changes: number }
  | { readonly type: "committed"; readonly changes: number }
  | { readonly type: "conflict"; readonly paths: readonly string[] }
  | { readonly type: "rolled_back"; readonly reason: string }
  | { readonly type: "undone"; readonly changes: number }
  | { readonly type: "redone"; readonly changes: number }
  | { readonly type: "evicted"; readonly bytes: number }
  /** The quota of undo data was passed after this job: what the oldest jobs held is gone. */
  | {
      readonly type: "quota_evicted";
      readonly jobs: readonly { readonly job_id: string; readonly bytes: number }[];
      readonly quota_bytes: number;
    }
  | { readonly type: "note"; readonly text: string };

export interface JournalLine {
  readonly at: string;
  readonly event: JobEvent;
}
