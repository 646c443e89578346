/** Something broke under a job (a full disk, a bug): nothing of it was applied. The cause is kept. */
export class JobBroken extends Error {
  constructor(
    readonly jobId: string,
    readonly workspace: string,
    cause: unknown,
  ) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = "JobBroken";
  }
}
