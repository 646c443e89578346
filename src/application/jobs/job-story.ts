import type { PatchCommand } from "../../domain/patch/command.ts";
import type { Change, CommandResult } from "../../domain/jobs/result.ts";
import type { Note } from "../../domain/jobs/note.ts";
import type { JobOutcome, JobRecord } from "../ports/jobs.ts";
import type { ExecuteRequest } from "./execution.ts";
import { jobRecord } from "./conclude-job.ts";
import type { WorkspaceDeps } from "./workspace-parts.ts";

interface StoryResult {
  readonly results: readonly CommandResult[];
  readonly changes: readonly Change[];
  readonly gitCommit: string | null;
}

const NOTHING: StoryResult = { results: [], changes: [], gitCommit: null };

/** What is to be said of a job, as it becomes known: its record is made of it. */
export class JobStory {
  readonly notes: Note[] = [];
  readonly #parts: WorkspaceDeps;
  readonly #job: { readonly jobId: string; readonly kind: string };
  readonly #createdAt: Date;
  #request: ExecuteRequest;
  #commands: readonly PatchCommand[] = [];
  #warnings: readonly string[] = [];

  constructor(
    parts: WorkspaceDeps,
    request: ExecuteRequest,
    job: { readonly jobId: string; readonly kind: string },
  ) {
    this.#parts = parts;
    this.#request = request;
    this.#job = job;
    this.#createdAt = parts.now();
  }

  get request(): ExecuteRequest {
    return this.#request;
  }

  /** What counts in its record. */
  get commands(): readonly PatchCommand[] {
    return this.#commands;
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** What the record counts and is titled by, where that is not known from the beginning. */
  describe(about: {
    readonly commands: readonly PatchCommand[];
    readonly warnings: readonly string[];
    readonly plan?: string | undefined;
    readonly patch?: string | undefined;
  }): void {
    const { plan = this.#request.plan, patch = this.#request.patch } = about;
    this.#request = { ...this.#request, patch, ...(plan !== undefined && { plan }) };
    this.#commands = about.commands;
    this.#warnings = about.warnings;
  }

  record(outcome: JobOutcome, cameOf: StoryResult = NOTHING): JobRecord {
    const begun = {
      ...this.#job,
      request: this.#request,
      commands: this.#commands.length,
      at: this.#createdAt,
    };
    return jobRecord(this.#parts, begun, { outcome, ...cameOf, notes: [...this.notes] });
  }
}
