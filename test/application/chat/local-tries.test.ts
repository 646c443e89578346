/** What a coder with a local model tries: named goals, repeated answers, answers without an end. */
import { afterEach, describe, expect } from "bun:test";
import { withChecks } from "../../e2e/node-project.ts";
import type { AskedRequest, FakeAnswer } from "../../fakes/fake-models.ts";
import { proposal } from "./chat-kit.ts";
import { type ConversationOptions, type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const STUB = "export function leap(year) {}\n";
const TESTS = `import assert from "node:assert";
import test from "node:test";
import { leap } from "./leap.js";
test("four", () => assert.equal(leap(4), true));
test("five", () => assert.equal(leap(5), false));
`;
const whole = (text: string, path = "leap.js") => proposal("p", `\`\`\`js:${path}\n${text}\`\`\``);

async function openExercise(
  answer: (asked: AskedRequest, turn: number) => FakeAnswer,
  options: ConversationOptions = {},
) {
  at = await openConversation(answer, { config: "checks: { command: node --test }\n", ...options });
  at.write("package.json", '{ "type": "module" }\n');
  at.write("leap.js", STUB);
  at.write("leap.test.js", TESTS);
}

describe("a stray new file beside the red tests that a message names", () => {
  const stray = () => whole("export const a = 1;\n", "src/app.js");

  withChecks("is not applied, and the reply names the tests", async () => {
    await openExercise(stray);
    const reply = await at.send("/code3 Write leap in leap.js so that the tests in leap.test.js pass.");
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith("Preview, nothing applied: node --test 0 passed, 2 still red\n");
    expect(Object.keys(at.tree())).not.toContain("src/app.js");
  });

  withChecks(
    "lands where the message names none of it, and the first line says why nothing was checked",
    async () => {
      await openExercise(stray);
      const reply = await at.send("/code3 Write a constant.");
      expect(reply.text.split("\n")[0]).toBe(
        "Applied: 1 file, NOT CHECKED: no test passed before the change, and none passes with it",
      );
      expect(reply.text).toContain("Still red as before: four, five");
    },
  );
});
