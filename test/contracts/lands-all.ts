import type { ValidateDifference } from "../../src/application/ports/jobs-transaction.ts";

/** For tests of the engine alone: everything that was staged may land. */
export const landsAll: ValidateDifference = () => ({ drop: [], rewrite: new Map() });
