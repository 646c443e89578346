import { confinementMessages, messagesFor } from "../../domain/texts/messages.ts";
import type { Reply } from "../ports/conversation.ts";
import { JobBroken } from "../jobs/job-broken.ts";
import { LimitReached } from "../jobs/limit-reached.ts";
import { answerInEveryLanguage } from "./answering.ts";
import type { ChatDeps } from "./chat-turn.ts";

/** What is said of a job that took more disk than it may, as `picoclaw apply` says it; null for any other trouble. */
export function limitReply(parts: Pick<ChatDeps, "messages">, error: unknown): Reply | null {
  const reached = error instanceof JobBroken ? error.cause : error;
  if (!(reached instanceof LimitReached)) return null;
  const jobId = error instanceof JobBroken ? error.jobId : undefined;
  const { text, said = [] } = answerInEveryLanguage(parts, (locale) =>
    [
      confinementMessages(locale).diskReached(reached.what, reached.bytes, reached.limitBytes),
      ...(jobId === undefined ? [] : [messagesFor(locale).nothingApplied(jobId)]),
    ].join("\n"),
  );
  return {
    text,
    said,
    ok: false,
    sessionId: "",
    jobs: [],
    ...(jobId !== undefined && { brokenJob: jobId }),
    actions: [],
  };
}
