import { type ReplyPiece, say, wordPieces } from "./reply-words.ts";
import { answerPieces, createAnswer } from "./answering.ts";
import { isCoderAgent } from "./history.ts";
import type { ChatDeps } from "./chat-turn.ts";
import type { Answer, RoutedText } from "./turn.ts";

/** Answers of several routes become one reply: each under its agent's name, in the order they came. */
export function mergeAnswers(
  parts: Pick<ChatDeps, "messages">,
  asked: readonly RoutedText[],
  answers: readonly Answer[],
  /** The buttons of all jobs of the message. */
  actions: () => NonNullable<Answer["actions"]>,
): Answer {
  const [only] = answers;
  if (only === undefined) return createAnswer(parts, [say("aborted")], false);
  if (answers.length === 1) return only;
  const last = answers.findLast(({ model }) => model !== undefined)?.model;
  const said = answers.flatMap((answer, at): readonly ReplyPiece[] => {
    const route = asked.length === answers.length ? ` · ${asked[at]?.decision.route}` : "";
    return [{ kind: "heading", text: `【${answer.agent}${route}】` }, ...answerPieces(answer)];
  });
  return {
    text: wordPieces(parts.messages.locale, said),
    said,
    ok: answers.every(({ ok }) => ok),
    // Remembered as the most private of them: what Shiro found is not for a cloud coder's history.
    agent: answers.find(({ agent }) => !isCoderAgent(agent))?.agent ?? only.agent,
    jobs: answers.flatMap(({ jobs }) => jobs),
    ...(last !== undefined && { model: last }),
    actions: actions(),
  };
}
