/** A coder that leaves code alone which its message names says so in its plan, and its user reads it. */
import { afterEach, expect, test } from "bun:test";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const CODE = `export function withBase(input, base) {
  return base + input;
}

export function withoutBase(input, base) {
  return input.slice(base.length);
}
`;
const MESSAGE = "/code3 withBase adds the base twice. withoutBase has the same problem.";
const first = replace("src/url.js", "  return base + input;", "  return join(base, input);");
const LEAVES = "Leaves: `withoutBase`: it has its own guard.";

async function talk(answers: readonly string[], text = MESSAGE) {
  at = await openConversation((_, turn) => answers[turn] ?? "nothing more", {
    local: false,
    config: "security:\n  local_only: false\n",
  });
  at.write("src/url.js", CODE);
  return at.send(text);
}

test("named code that the plan leaves alone is in the reply, with its reason, and nothing is asked", async () => {
  const reply = await talk([proposal(`Join.\n${LEAVES}`, first)]);
  expect(at.asked).toHaveLength(1);
  expect(at.asked[0]?.system).toContain("`Leaves: NAME: reason`");
  expect(at.read("src/url.js")).toBe(CODE.replace("base + input", "join(base, input)"));
  expect(reply.ok).toBe(true);
  expect(reply.text).toStartWith("Applied: 1 file");
  expect(reply.text).toContain(LEAVES);
});

test.each([MESSAGE, "/code3 fix withBase and withoutBase in src/url.js"])(
  "a reason for one name does not excuse a missing patch of another: %s",
  async (text) => {
    const claim = `I fixed withBase.\n${LEAVES}`;
    const reply = await talk([claim, claim], text);
    expect(at.asked).toHaveLength(2);
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith("Nothing was changed: the coder's answer has neither a patch");
  },
);

test("reasons for all names together say that nothing has to change", async () => {
  const both = "No change: withBase: it is right.\nNo change: withoutBase: it has its own guard.";
  const reply = await talk([both], "/code3 fix withBase and withoutBase in src/url.js");
  expect(at.asked).toHaveLength(1);
  expect(reply.ok).toBe(true);
});

test("a reason beside a patch keeps its label", async () => {
  const reply = await talk([proposal("Join.\nNo change: withoutBaseUrl: not needed any more", first)]);
  expect(at.asked).toHaveLength(1);
  expect(reply.text).toContain("No change: withoutBaseUrl: not needed any more");
});
