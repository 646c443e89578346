/** A coder is spoken to in words of its own: none of them is shown to the user, in the reply or while it works. */
import { afterEach, expect, test } from "bun:test";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const LONG = `${Array.from({ length: 60 }, (_, line) => `const line${line} = ${line};`).join("\n")}\n`;
const block = (path: string, text: string) => `\`\`\`js:${path}\n${text}\n\`\`\``;
/** Words that only a coder is addressed with. */
const ADDRESSED =
  /\byou(?:r|rs)?\b|\bdo not send\b|\bsend (?:it|this|the|fewer)\b|\bshown below\b|\bAnswer with\b/i;

const ANSWERS: readonly [what: string, patch: string, shown: RegExp][] = [
  ["replaces a file that it has not seen", block("lib/unseen.js", "const a = 1;"), /has not seen it/],
  [
    "leaves a mark in the place of code",
    block("new.js", "const a = 1;\n// ... existing code ...\nconst b = 2;"),
    /existing code/,
  ],
  ["leaves a fraction of a file", block("long.js", "const line0 = 0;"), /would shrink from 61 to/],
  ["is no patch", "```json\n[{ broken\n```", /not in a valid format/],
  ["was made before", replace("long.js", "const line98 = 98;", "const line3 = 3;"), /./],
  ["matches nothing", replace("long.js", "const line99 = 99;", "const line100 = 100;"), /./],
];

test.each(ANSWERS)("an answer that %s", async (_, patch, shown) => {
  at = await openConversation(() => proposal("Change it", patch));
  at.write("long.js", LONG);
  at.write("lib/unseen.js", `// unseen\n${LONG.repeat(400)}`);
  const reply = await at.send("/code3 change long.js");
  const notices = at.events.flatMap((event) => (event.type === "notice" ? [JSON.stringify(event)] : []));
  for (const text of [reply.text, ...notices]) expect(text).not.toMatch(ADDRESSED);
  expect([reply.text, ...notices].join("\n")).toMatch(shown);
});
