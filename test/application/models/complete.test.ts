import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Completion, complete, completeFitting } from "../../../src/application/models/complete.ts";
import type { Model, ModelEvent } from "../../../src/application/ports/models.ts";
import { ask } from "../../contracts/model-kit.ts";
import { openStubModel, WIRES } from "../../contracts/stub-model.ts";
import type { ScriptedReply } from "../../fakes/model-server/reply.ts";
import { type ModelServer, startModelServer } from "../../fakes/model-server/server.ts";

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.stop());

const LATE = 2;
const CALL = { name: "look", arguments: { path: "a.ts" } };

/** One line that says how a request ended. */
function told(completion: Completion): string {
  switch (completion.kind) {
    case "finished":
    case "cut":
    case "refused":
      return `${completion.kind}: ${completion.answer.text}`;
    case "aborted":
      return `aborted by ${completion.by}`;
    default:
      return `${completion.kind}: ${completion.failure.code}`;
  }
}

describe.each(WIRES.map((kind) => [kind.protocol, kind] as const))("over %s", (_, kind) => {
  test.each<readonly [string, ScriptedReply[], string]>([
    ["words", [{ text: "yes" }], "finished: yes"],
    ["a tool call without words", [{ toolCalls: [CALL] }], "finished: "],
    ["its longest", [{ text: "once upon", finish: "length" }], "cut: once upon"],
    ["nothing", [{ text: "" }], "empty: empty"],
    ["only white space", [{ text: " \n" }], "empty: empty"],
    ["429, then words", [{ fault: { kind: "status", status: 429 } }, { text: "yes" }], "finished: yes"],
    ["429 for ever", [{ fault: { kind: "status", status: 429 } }], "failed: rate-limited"],
    [
      "a cut stream",
      [{ chunks: ["on", "ce"], fault: { kind: "cut", after: kind.begins + 1 } }],
      "failed: cut-off",
    ],
    [
      "a polite early end",
      [{ chunks: ["on", "ce"], fault: { kind: "end-early", after: kind.begins + 1 } }],
      "failed: cut-off",
    ],
    ["a page of HTML", [{ fault: { kind: "html" } }], "failed: malformed"],
    ["a wrong key", [{ fault: { kind: "unauthorized" } }], "failed: unauthorized"],
  ])("%s", async (_what, replies, expected) => {
    server.say(...replies);
    expect(told(await complete(openStubModel(kind, server), ask()))).toBe(expected);
  });

  test("gives the words as they come", async () => {
    server.say({ chunks: ["Guten ", "Tag"] });
    const words: string[] = [];
    await complete(openStubModel(kind, server), ask(), { onText: (text) => words.push(text) });
    expect(words).toEqual(["Guten ", "Tag"]);
  });

  test("ends at its deadline, and says that it was not the caller", async () => {
    server.say({ text: "never", fault: { kind: "hang", after: 0 } });
    const deadline = AbortSignal.timeout(LATE);
    expect(told(await complete(openStubModel(kind, server), ask(), { deadline }))).toBe(
      "aborted by deadline",
    );
    expect(told(await complete(openStubModel(kind, server), ask("x", { signal: deadline })))).toBe(
      "aborted by signal",
    );
  });

  test("repeats a request that was too long once, shortened", async () => {
    server.say({ fault: { kind: "context-length" } }, { text: "short" });
    const sizes: string[] = [];
    const notices: string[] = [];
    const { completion, size } = await completeFitting(
      openStubModel(kind, server),
      (fitting) => {
        sizes.push(fitting);
        return ask(fitting);
      },
      { onTooLong: () => notices.push("too long") },
    );
    expect([told(completion), size, sizes, notices]).toEqual([
      "finished: short",
      "small",
      ["full", "small"],
      ["too long"],
    ]);
  });
});

test.each(
  WIRES.filter(({ protocol }) => protocol !== "ollama").map((kind) => [kind.protocol, kind] as const),
)("an answer that the filter of %s stopped is refused, with or without words", async (_, kind) => {
  server.say({ text: "I cannot", finish: "filtered" });
  expect(told(await complete(openStubModel(kind, server), ask()))).toBe("refused: I cannot");
  server.say({ text: "", finish: "filtered" });
  expect(told(await complete(openStubModel(kind, server), ask()))).toBe("refused: ");
});

test("a stream without an end is a lost one", async () => {
  const model: Model = {
    provider: "p",
    model: "m",
    local: true,
    family: "other",
    check: async () => ({ ok: true, detail: "" }),
    async *generate(): AsyncGenerator<ModelEvent> {
      yield { type: "text", text: "half" };
    },
  };
  expect(told(await complete(model, ask()))).toBe("failed: cut-off");
});

test("an answer that arrives all at once yields to other work every few thousand characters", async () => {
  async function* generate(): AsyncGenerator<ModelEvent, void> {
    for (let n = 0; n < 1_000; n += 1)
      yield { type: n % 2 === 0 ? "text" : "reasoning", text: "a".repeat(100) };
  }
  const model = { generate } as unknown as Model;
  const steps: number[] = [];
  let characters = 0;
  let before = 0;
  const look = () => {
    steps.push(characters - before);
    before = characters;
    timer = setImmediate(look);
  };
  let timer = setImmediate(look);
  const onText = (text: string) => {
    characters += text.length;
  };
  await complete(model, ask(), { onText });
  clearImmediate(timer);
  expect(characters).toBe(50_000);
  expect(Math.max(...steps, characters - before)).toBeLessThanOrEqual(1_100);
});
