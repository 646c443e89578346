import type { PrepareFailure } from "../../domain/containers/prepare-event.ts";

/** No environment is ready. Carries the failure where preparing it failed. */
export class EnvironmentError extends Error {
  constructor(
    message: string,
    readonly failure?: PrepareFailure,
  ) {
    super(message);
    this.name = "EnvironmentError";
  }
}
