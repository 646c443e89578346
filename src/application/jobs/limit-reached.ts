/** A job took more than it may, and was ended; nothing of it is applied. */
export class LimitReached extends Error {
  readonly code = "LIMIT_REACHED";

  constructor(
    /** What took it. */
    readonly what: "changes" | "home",
    readonly bytes: number,
    /** `worker.limits.disk`. */
    readonly limitBytes: number,
  ) {
    super(`worker.limits.disk reached: ${what} of the job take ${bytes} bytes, ${limitBytes} are allowed`);
  }
}
