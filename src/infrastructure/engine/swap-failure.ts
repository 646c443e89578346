/** A path that could not be swapped. Without a cause: somebody changed it between the check and the rename. */
export class SwapFailure extends Error {
  /** `path` is absolute. */
  constructor(
    readonly path: string,
    cause?: unknown,
  ) {
    super(cause === undefined ? `changed while it was being replaced: ${path}` : `${path}: ${cause}`, {
      cause,
    });
  }
}
