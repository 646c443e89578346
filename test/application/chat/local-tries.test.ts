/** What a coder with a local model tries: named goals, repeated answers, answers without an end. */
import { afterEach, describe, expect, test } from "bun:test";
import { withChecks } from "../../e2e/node-project.ts";
import type { AskedRequest, FakeAnswer } from "../../fakes/fake-models.ts";
import { proposal } from "./chat-kit.ts";
import { type ConversationOptions, type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const STUB = "export function leap(year) {}\n";
const WRONG = "export const leap = (year) => year % 4 === 1;\n";
const RIGHT = "export const leap = (year) => year % 4 === 0;\n";
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
  at = await openConversation(answer, {
    config: "checks: { command: node --test }\n",
    small: true,
    ...options,
  });
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

const ASK = "/code3 Write leap in leap.js so that the tests in leap.test.js pass.";
const textOf = ({ messages }: AskedRequest) => messages.map(({ text }) => text).join("\n");

describe("an answer of a local model that repeats itself", () => {
  withChecks("is asked for otherwise, without the failed answer, and the right one lands alone", async () => {
    const repeats = `${whole(WRONG)}`.replace(
      "## Risk",
      `\`\`\`js:src/app.js\nexport const a = 1;\n\`\`\`\n## Risk`,
    );
    await openExercise((_, turn) => (turn < 2 ? repeats : whole(RIGHT)), { small: false });
    const reply = await at.send(ASK);
    expect(reply.text.split("\n")[0]).toBe("Applied: 1 file, node --test 2 passed (2 fixed)");
    expect(at.read("leap.js")).toBe(RIGHT);
    expect(Object.keys(at.tree())).not.toContain("src/app.js");
    const [first, second, third] = at.asked;
    expect(at.asked.map(({ temperature }) => temperature)).toEqual([undefined, undefined, 0.7]);
    expect(textOf(second!)).toContain("% 4 === 1");
    expect(third!.messages.map(({ role }) => role)).toEqual(["user"]);
    expect(third!.messages[0]!.text).toStartWith(first!.messages[0]!.text);
    expect(third!.messages[0]!.text).toContain("An earlier answer to this request was thrown away");
    expect(textOf(third!)).not.toContain("% 4 === 1");
  });

  withChecks("is asked until the attempts are used up, each time at another temperature", async () => {
    await openExercise(() => whole(WRONG), {
      config: "checks: { command: node --test }\ncoder: { attempts: 5 }\n",
      small: false,
    });
    const reply = await at.send(ASK);
    expect(at.asked.map(({ temperature }) => temperature)).toEqual([undefined, undefined, 0.7, 0.75, 1]);
    expect(reply.text).toStartWith("Preview, nothing applied: node --test 0 passed, 2 still red");
    expect(reply.text).toContain("Still failing after 5 attempts");
  });

  withChecks("of a cloud model is the end, because each try costs money", async () => {
    await openExercise(() => whole(WRONG), {
      local: (role) => !role.startsWith("coder"),
      config: "checks: { command: node --test }\n",
    });
    const reply = await at.send(ASK);
    expect(at.asked.map(({ temperature }) => temperature)).toEqual([undefined, undefined]);
    expect(reply.text).toContain("The same failure occurred twice");
  });

  test("that cannot be read is asked for otherwise as well", async () => {
    await openExercise((_, turn) => (turn < 2 ? "## Plan\np\n## Patch\n```js\nx\n```\n" : whole(RIGHT)), {
      config: "checks: { enabled: never }\n",
      small: false,
    });
    const reply = await at.send(ASK);
    expect(reply.ok).toBe(true);
    expect(at.asked.map(({ temperature }) => temperature)).toEqual([undefined, undefined, 0.7]);
    expect(textOf(at.asked[2]!)).not.toContain("```js\nx");
  });
});

describe("a small model whose answer is red", () => {
  withChecks("is asked from the beginning, with the failing test and without the answer", async () => {
    await openExercise((_, turn) => whole(turn < 2 ? WRONG : RIGHT));
    const reply = await at.send(ASK);
    expect(reply.text.split("\n")[0]).toBe("Applied: 1 file, node --test 2 passed (2 fixed)");
    expect(at.asked.map(({ temperature }) => temperature)).toEqual([undefined, 0.7, 0.75]);
    for (const again of at.asked.slice(1)) {
      expect(again.messages.map(({ role }) => role)).toEqual(["user"]);
      expect(again.messages[0]!.text).toStartWith(at.asked[0]!.messages[0]!.text);
      expect(textOf(again)).toContain("The tests in leap.test.js are right: change only leap.js.");
      expect(textOf(again)).toContain("leap.test.js, line 4, and the lines around it:");
      expect(textOf(again)).not.toContain("% 4 === 1");
      expect(textOf(again)).not.toContain("Not mine:");
    }
  });

  withChecks("has more tries than a cloud model, and the reply names their setting", async () => {
    await openExercise(() => whole(WRONG));
    const reply = await at.send(ASK);
    expect(at.asked.map(({ temperature }) => temperature)).toEqual([undefined, 0.7, 0.75, 1, 0.8, 0.9]);
    expect(reply.text).toContain("Still failing after 6 attempts (the limit: coder.local_attempts).");
  });

  withChecks("keeps the draft with the most green tests as its preview, not the last one", async () => {
    const half = "export const leap = () => true;\n";
    await openExercise((_, turn) => whole([half, WRONG, WRONG, STUB][turn] ?? STUB), {
      config: "checks: { command: node --test }\ncoder: { local_attempts: 4 }\n",
    });
    const reply = await at.send(ASK);
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith(
      "Preview, nothing applied: node --test 1 passed (1 fixed), 1 of 2 still red",
    );
    expect(reply.text).toContain("Kept is attempt 1 of 4, whose checks were the best.");
    await at.send("/apply");
    expect(at.read("leap.js")).toBe(half);
  });

  withChecks("and equals the file, or says that nothing changes, is tried again, and ends red", async () => {
    const answers = [whole(STUB), "No change: Reason", "No change: reason"];
    await openExercise((_, turn) => answers[turn] ?? whole(STUB), {
      config: "checks: { command: node --test }\ncoder: { local_attempts: 4 }\n",
    });
    const reply = await at.send(ASK);
    expect(at.asked).toHaveLength(4);
    expect(at.asked.map(({ temperature }) => temperature)).toEqual([undefined, 0.7, 0.75, 1]);
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith("No change: node --test 0 passed, 2 still red\n");
    expect(at.read("leap.js")).toBe(STUB);
  });

  withChecks("is asked again after words without a file", async () => {
    await openExercise((_, turn) => [whole(WRONG), "Now it works.", whole(RIGHT)][turn] ?? "");
    const reply = await at.send(ASK);
    expect(reply.ok).toBe(true);
    expect(at.read("leap.js")).toBe(RIGHT);
  });
});

describe("an answer of a local model that has no end", () => {
  // Lines that only count are told earlier, as words that repeat.
  const wordOf = (line: number) =>
    (line * 7919).toString(26).replace(/\d/g, (digit) => "qrstuvwxyz"[Number(digit)] ?? "");
  const endless = `## Plan\n${Array.from({ length: 3_000 }, (_, line) => `${wordOf(line)} and ${wordOf(line + 7)}`).join("\n")}`;
  const config = "checks: { enabled: never }\ncoder: { local_attempts: 4 }\n";

  test("is ended, never sent back, and the next one lands", async () => {
    await openExercise((_, turn) => (turn === 0 ? endless : whole(RIGHT)), { config });
    const reply = await at.send(ASK);
    expect(reply.ok).toBe(true);
    expect(at.asked[1]!.messages).toEqual(at.asked[0]!.messages);
    expect(at.asked.map(({ temperature }) => temperature)).toEqual([undefined, 0.7]);
    expect(at.events).toContainEqual(
      expect.objectContaining({
        type: "notice",
        text: "Try 1 of 4: the answer had no end and was stopped. Fixing…",
      }),
    );
  });

  test("has room for four times the file that it is asked for", async () => {
    const lines = Array.from({ length: 1_000 }, (_, line) => `export const a${line} = ${line};`).join("\n");
    await openExercise(() => whole(RIGHT), { config });
    at.write("leap.js", lines);
    await at.send(ASK);
    at.write("leap.js", lines.slice(0, 8_000));
    await at.send(ASK);
    const ends = at.asked.map(({ system, endsAfter }) => [system?.includes("one code block"), endsAfter]);
    const shown = [...textOf(at.asked[0]!).matchAll(/<file [^>]*>\n([\s\S]*?)\n<\/file>/g)];
    const chars = shown.reduce((sum, [, text = ""]) => sum + text.length, 0);
    // A file that is too long to be written whole is edited, and then all files that are shown count.
    expect(ends[0]).toEqual([false, 4 * chars]);
    expect(ends).toContainEqual([true, 4 * 8_000]);
  });

  test("each time is told in the end, and nothing is changed", async () => {
    await openExercise(() => endless, { config });
    const reply = await at.send(ASK);
    expect(at.asked).toHaveLength(4);
    expect(reply.ok).toBe(false);
    expect(reply.text).toStartWith("Gin could not answer: the answer of fake (coder3) is longer than 16 kB");
    expect(at.read("leap.js")).toBe(STUB);
  });

  test("in pieces is not sent back until the conversation is too long", async () => {
    await openExercise(
      (_, turn) =>
        turn === 0
          ? { text: endless.slice(0, 9_000), finish: "length" }
          : turn === 1
            ? { fails: "context-too-long" }
            : whole(RIGHT),
      { config },
    );
    const reply = await at.send(ASK);
    expect(reply.ok).toBe(true);
    expect(at.asked[2]!.messages).toEqual(at.asked[0]!.messages);
  });
});
