import { expect, test } from "bun:test";
import { type Candidate, withFallback } from "../../../src/application/models/meter.ts";
import type { Model, ModelFailure, ModelRole } from "../../../src/application/ports/models.ts";
import type { StandIn } from "../../../src/application/ports/models-meter.ts";
import { answering } from "../chat/memory-kit.ts";

const { signal } = new AbortController();
const failure = (code: ModelFailure["code"]): ModelFailure => ({ code, message: code, retryable: true });

function candidate(role: ModelRole, answer: string | ModelFailure): Candidate & { asked(): number } {
  const { models, asked } = answering([answer], { provider: "cloud", model: `model of ${role}` });
  return { role, model: models.forRole(role), asked: () => asked.length };
}

async function ask(first: Candidate, ...others: readonly Candidate[]) {
  const standIns: StandIn[] = [];
  const model = withFallback(first, others, (standIn) => standIns.push(standIn));
  if (!("generate" in model)) return { end: model.code, standIns, model: "" };
  const events = await Array.fromAsync(model.generate({ messages: [], signal }));
  const ends = events.filter(({ type }) => type === "finished" || type === "failed");
  expect(ends).toHaveLength(1);
  const last = events.at(-1);
  const end = last?.type === "finished" ? last.answer.text : last?.type === "failed" ? last.failure.code : "";
  return { end, standIns, model: model.model };
}

test.each([
  "unreachable",
  "timeout",
  "rate-limited",
  "server-error",
  "unauthorized",
  "unknown-model",
] as const)("a coder that cannot answer (%s) is followed by the next, and it is noted", async (code) => {
  const second = candidate("coder1", "instead");
  expect(await ask(candidate("coder3", failure(code)), second)).toEqual({
    end: "instead",
    standIns: [{ asked: "coder3", answered: "coder1", model: "model of coder1", code }],
    model: "model of coder1",
  });
});

test("a coder without a key is, too", async () => {
  const { end, standIns } = await ask(
    { role: "coder3", model: failure("no-key") },
    { role: "coder2", model: failure("no-key") },
    candidate("coder1", "instead"),
  );
  expect(end).toBe("instead");
  expect(standIns).toMatchObject([{ asked: "coder3", answered: "coder1", code: "no-key" }]);
});

test.each(["context-too-long", "aborted", "over-budget", "refused-remote", "empty", "bad-request"] as const)(
  "%s stays what it is",
  async (code) => {
    const second = candidate("coder1", "instead");
    expect(await ask(candidate("coder3", failure(code)), second)).toMatchObject({ end: code, standIns: [] });
    expect(second.asked()).toBe(0);
  },
);

test("no other coder is asked after one that answers, or that began to", async () => {
  const second = candidate("coder1", "instead");
  expect(await ask(candidate("coder3", "yes"), second)).toMatchObject({ end: "yes", standIns: [] });
  const broken: Model = {
    ...(candidate("coder3", "").model as Model),
    async *generate() {
      yield { type: "text", text: "half" };
      yield { type: "failed", failure: failure("server-error") };
    },
  };
  const { end, standIns } = await ask({ role: "coder3", model: broken }, second);
  expect([end, standIns, second.asked()]).toEqual(["server-error", [], 0]);
});

test("if none can, the failure of the last is reported and none replaces it", async () => {
  expect(
    await ask(candidate("coder3", failure("timeout")), candidate("coder1", failure("unauthorized"))),
  ).toMatchObject({ end: "unauthorized", standIns: [] });
  expect(await ask(candidate("coder3", failure("timeout")))).toMatchObject({ end: "timeout" });
});
