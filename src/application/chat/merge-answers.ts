import type { ChatMessages } from "../../domain/texts/texts.ts";
import { isCoderAgent } from "./history.ts";
import type { Answer, Asked } from "./turn.ts";

/** Answers of several routes become one reply: each under its agent's name, in the order they came. */
export function mergeAnswers(
  chat: ChatMessages,
  asked: readonly Asked[],
  answers: readonly Answer[],
  /** The buttons of all jobs of the message. */
  actions: () => NonNullable<Answer["actions"]>,
): Answer {
  const [only] = answers;
  if (only === undefined) return { text: chat.aborted, ok: false, agent: "", jobs: [] };
  if (answers.length === 1) return only;
  const last = answers.findLast(({ model }) => model !== undefined)?.model;
  const text = answers
    .map(({ agent, text: said }, at) => {
      const route = asked.length === answers.length ? ` · ${asked[at]?.decision.route}` : "";
      return `【${agent}${route}】\n${said}`;
    })
    .join("\n\n");
  return {
    text,
    ok: answers.every(({ ok }) => ok),
    // Remembered as the most private of them: what Shiro found is not for a cloud coder's history.
    agent: answers.find(({ agent }) => !isCoderAgent(agent))?.agent ?? only.agent,
    jobs: answers.flatMap(({ jobs }) => jobs),
    ...(last !== undefined && { model: last }),
    actions: actions(),
  };
}
