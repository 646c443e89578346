import type { Forge } from "../../application/ports/forges.ts";

/** Issues and pull requests as people write about them: texts, comments, labels, and what asks for work. */
export type ForgeItems = Pick<
  Forge,
  | "readItem"
  | "listComments"
  | "postComment"
  | "editComment"
  | "addLabel"
  | "removeLabel"
  | "assign"
  | "unassign"
  | "findRequest"
  | "listSaid"
  | "listWork"
>;

/** Pull requests, their reviews and their checks. */
export type ForgePulls = Pick<
  Forge,
  "listReviewComments" | "replyTo" | "findPull" | "openPull" | "updatePull" | "checksOf"
>;
