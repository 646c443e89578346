import { expect, test } from "bun:test";
import fc from "fast-check";
import { createDraftOutput } from "../../../src/application/chat/draft-output.ts";

const ANSWER = `## Plan
Count quantities.

- total() multiplies
- an empty cart stays free: sk-SECRETSECRET

## Patch
\`\`\`js:src/cart.js
export const a = 1;
## Plan
\`\`\`
\`\`\`bash
npm test
\`\`\`

## Risk
low
`;
const mask = (text: string) => text.replaceAll("sk-SECRETSECRET", "***");

function hear(pieces: readonly string[]) {
  let [words, lines] = ["", 0];
  const draft = createDraftOutput(mask, (text, count) => {
    words += text;
    lines = count;
  });
  for (const piece of pieces) draft.add(piece);
  draft.end();
  return { words, lines };
}

test("the plan's words go through, the patch is counted, and headings, risk and secrets are not shown", () => {
  expect(hear([ANSWER])).toEqual({
    words: "Count quantities.\n\n- total() multiplies\n- an empty cart stays free: ***\n\n",
    lines: 8,
  });
});

test("any chunking tells the same", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }), (sizes) => {
      const pieces: string[] = [];
      for (let at = 0, next = 0; at < ANSWER.length; next++) {
        const size = sizes[next % sizes.length] as number;
        pieces.push(ANSWER.slice(at, at + size));
        at += size;
      }
      expect(hear(pieces)).toEqual(hear([ANSWER]));
    }),
  );
});

test("an answer without headings is words up to its first fence, and words are not held until their line ends", () => {
  expect(hear(["Here it is:\n```js:a.js\nx\n```\n"])).toEqual({ words: "Here it is:\n", lines: 3 });
  const heard: string[] = [];
  const draft = createDraftOutput(mask, (text) => void heard.push(text));
  draft.add("## Plan\nThe total ");
  expect(heard.join("")).toBe("The total ");
});
