import { type Said, say, wordSaid } from "../work/report/said.ts";
import { answering, saidOf } from "./answering.ts";
import { isCoderAgent } from "./history.ts";
import type { ChatParts } from "./parts.ts";
import type { Answer, Asked } from "./turn.ts";

/** Answers of several routes become one reply: each under its agent's name, in the order they came. */
export function mergeAnswers(
  parts: Pick<ChatParts, "messages">,
  asked: readonly Asked[],
  answers: readonly Answer[],
  /** The buttons of all jobs of the message. */
  actions: () => NonNullable<Answer["actions"]>,
): Answer {
  const [only] = answers;
  if (only === undefined) return answering(parts, [say("aborted")], false);
  if (answers.length === 1) return only;
  const last = answers.findLast(({ model }) => model !== undefined)?.model;
  const said = answers.flatMap((answer, at): readonly Said[] => {
    const route = asked.length === answers.length ? ` · ${asked[at]?.decision.route}` : "";
    return [{ kind: "heading", text: `【${answer.agent}${route}】` }, ...saidOf(answer)];
  });
  return {
    text: wordSaid(parts.messages.locale, said),
    said,
    ok: answers.every(({ ok }) => ok),
    // Remembered as the most private of them: what Shiro found is not for a cloud coder's history.
    agent: answers.find(({ agent }) => !isCoderAgent(agent))?.agent ?? only.agent,
    jobs: answers.flatMap(({ jobs }) => jobs),
    ...(last !== undefined && { model: last }),
    actions: actions(),
  };
}
