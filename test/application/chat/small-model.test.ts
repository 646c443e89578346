/** A small local model is asked for what it can write, and what it writes beside the goal of its request does not land. */
import { afterEach, expect, test } from "bun:test";
import { proposal } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const TESTS = "from leap import leap\n\n\ndef test_leap():\n    assert leap(2000)\n";
const CODE = "def leap(year):\n    return year % 4 == 0\n";
const GOAL = "/code3 Implement it in leap.py so that the tests in leap_test.py pass.";
/** The test that a request names is red before, and the command is green after the change. */
const CHECKS = { config: "checks: { command: 'grep -q 4 leap.py' }\n" };
const block = (path: string, text: string) => `\`\`\`python:${path}\n${text}\`\`\``;

function write(): void {
  at.write("leap.py", "def leap(year):\n    pass\n");
  at.write("leap_test.py", TESTS);
}

test("the tests that a request names as its goal stay as they are, and the reply says so", async () => {
  const weaker = TESTS.replace("assert leap(2000)", "pass");
  at = await openConversation(
    () => proposal("p", `${block("leap.py", CODE)}\n\n${block("leap_test.py", weaker)}`),
    CHECKS,
  );
  write();
  const reply = await at.send(GOAL);
  expect([at.read("leap.py"), at.read("leap_test.py")]).toEqual([CODE, TESTS]);
  expect(at.asked).toHaveLength(1);
  expect(reply.text).toContain("leap_test.py");
});

test("an answer that changes only these tests goes back, with the file that is to change", async () => {
  at = await openConversation((_, turn) =>
    proposal(
      "p",
      turn === 0 ? block("leap_test.py", "def test_leap():\n    pass\n") : block("leap.py", CODE),
    ),
  );
  write();
  await at.send(GOAL);
  expect(at.asked[1]?.messages.at(-1)?.text).toContain(
    "The tests in leap_test.py are right: change only leap.py.",
  );
  expect([at.read("leap.py"), at.read("leap_test.py")]).toEqual([CODE, TESTS]);
});

test("a test may be added to them", async () => {
  const more = `${TESTS}\n\ndef test_not():\n    assert not leap(2001)\n`;
  at = await openConversation(
    () => proposal("p", `${block("leap.py", CODE)}\n\n${block("leap_test.py", more)}`),
    CHECKS,
  );
  write();
  await at.send(GOAL);
  expect(at.read("leap_test.py")).toBe(more);
});

test("a cloud model may change them", async () => {
  const other = TESTS.replace("2000", "2004");
  at = await openConversation(
    () => proposal("p", `${block("leap.py", CODE)}\n\n${block("leap_test.py", other)}`),
    { local: () => false, ...CHECKS },
  );
  write();
  await at.send(GOAL);
  expect(at.read("leap_test.py")).toBe(other);
});

test("a bare block of the file in question lands without a second request", async () => {
  at = await openConversation(() => `Here is the code:\n\n\`\`\`python\n${CODE}\`\`\`\n`, CHECKS);
  write();
  const reply = await at.send(GOAL);
  expect(reply.ok).toBe(true);
  expect(at.asked).toHaveLength(1);
  expect(at.asked[0]?.system).toContain("```py:leap.py\n");
  expect(at.read("leap.py")).toBe(CODE);
});

test("a model whose window holds no file is not asked, and the reply says what helps", async () => {
  at = await openConversation(() => proposal("p", block("leap.py", CODE)), { window: 2_048, ...CHECKS });
  write();
  const reply = await at.send(GOAL);
  expect([reply.ok, at.asked.length]).toEqual([false, 0]);
  expect(reply.text).toMatch(/has 2048 tokens.*8192/s);
});

test("a request to a window of 8,192 tokens is a third of it at most, with the file in question whole", async () => {
  at = await openConversation(() => proposal("p", block("leap.py", CODE)), { window: 8_192, ...CHECKS });
  write();
  at.write("AGENTS.md", "A rule of the house.\n".repeat(2_000));
  for (let i = 0; i < 50; i++) at.write(`lib/part_${i}.py`, `leap_${i} = "a leap in leap.py"\n`.repeat(200));
  await at.send(GOAL);
  const { system = "", messages = [] } = at.asked[0] ?? {};
  const chars = system.length + messages.reduce((sum, { text }) => sum + text.length, 0);
  expect(chars / 3.5).toBeLessThanOrEqual(8_192 / 3);
  expect(messages[0]?.text).toContain('<file path="leap.py">\ndef leap(year):\n    pass\n</file>');
});

test("a request in Japanese is asked for in Japanese, and so is each further try", async () => {
  at = await openConversation(
    (_, turn) => (turn === 0 ? "わかりました。" : `\`\`\`python\n${CODE}\`\`\`\n`),
    {
      small: true,
      ...CHECKS,
    },
  );
  write();
  const reply = await at.send("/code3 leap_test.py のテストが通るように leap.py を実装してください。");
  expect(reply.ok).toBe(true);
  expect(at.asked[0]?.system).toContain("leap.py の新しい全文を");
  expect(at.asked[0]?.messages[0]?.text).toContain("依頼:\n");
  expect(at.asked[1]?.messages[0]?.text).toContain(
    "leap_test.py のテストは正しいので、leap.py だけを変更してください。",
  );
});

test("a new file that a request names is asked for in a few lines, and an answer without a fence is that file", async () => {
  at = await openConversation(() => 'import sys\n\n\ndef hello():\n    print("hi", sys.argv)\n', {
    small: true,
    ...CHECKS,
  });
  // The only source of the project is not what is asked for.
  at.write("greet.py", "def greet():\n    pass\n");
  const reply = await at.send("/code3 Create hello.py that prints hi and its arguments.");
  expect(reply.ok).toBe(true);
  expect(at.asked).toHaveLength(1);
  expect(at.asked[0]?.system).toContain("```py:hello.py\n");
  expect(at.read("hello.py")).toStartWith("import sys\n");
  expect(at.read("greet.py")).toBe("def greet():\n    pass\n");
});

test("words about a new file are no file", async () => {
  at = await openConversation(() => "Sure, here is hello.py: it prints hi.", CHECKS);
  const reply = await at.send("/code3 Create hello.py that prints hi.");
  expect([reply.ok, Object.keys(at.tree())]).toEqual([false, []]);
});
