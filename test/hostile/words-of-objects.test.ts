import { afterEach, expect, test } from "bun:test";
import { nearestCommand } from "../../src/application/chat/look-commands.ts";
import { coerceText } from "../../src/config/scalar-values.ts";
import { readProposal } from "../../src/domain/coder/proposal.ts";
import { findLeftOut } from "../../src/domain/forges/publishable-change.ts";
import { nameByNumber } from "../../src/domain/jobs/result.ts";
import { type OpenedConversation, openConversation } from "../application/chat/conversation-kit.ts";

/** Names that every object of the language knows: as a word of a person, a model or a file they mean nothing. */
const WORDS = Object.getOwnPropertyNames(Object.prototype);

let at: OpenedConversation | undefined;
afterEach(async () => {
  await at?.close();
  at = undefined;
});

test("a job of that name has no number, and a command of that name is none", () => {
  for (const jobId of WORDS) {
    expect(nameByNumber({ jobId, numbers: {} })).toEqual({ jobId, numbers: {} });
    expect(nearestCommand(jobId, [])).toBeUndefined();
  }
});

test("a heading of that name is part of its section", () => {
  for (const word of WORDS) {
    const read = readProposal(`## Plan\none\n\n### ${word}\n\ntwo\n\n## Patch\n\n\`\`\`js:a.js\n1\n\`\`\`\n`);
    expect(read).toMatchObject({ kind: "proposal", proposal: { plan: `one\n\n### ${word}\n\ntwo` } });
  }
});

test("a folder of that name is published", () => {
  const changed = WORDS.map((word) => `src/${word}/index.ts`);
  expect(findLeftOut({ changed, base: [], linksOut: [], allowCi: false })).toEqual([]);
});

test("a variable with that text is neither yes nor no", () => {
  for (const word of WORDS) expect(coerceText(word, { type: "boolean" })).toBeUndefined();
});

test("an order of that name does nothing to a schedule", async () => {
  at = await openConversation(() => "hello");
  await at.send("/schedule every day at 9: say hello");
  const before = (await at.send("/schedule")).text;
  const { text: unknown } = await at.send("/schedule nonsense 1");
  for (const word of WORDS) expect((await at.send(`/schedule ${word} 1`)).text).toBe(unknown);
  expect((await at.send("/schedule")).text).toBe(before);
});
