import { expect, test } from "bun:test";
import { diagnoseModels } from "../../../src/application/models/diagnose-models.ts";
import type { Model, Models } from "../../../src/application/ports/models.ts";
import { DEFAULTS } from "../../../src/config/config.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";

/** Answers nothing until it is given up. */
function silent(local: boolean): Models {
  const model = {
    model: "m",
    local,
    check: (signal: AbortSignal) =>
      new Promise((resolve) => {
        const end = () => resolve({ ok: false, failure: { code: "aborted", message: "", retryable: false } });
        if (signal.aborted) end();
        signal.addEventListener("abort", end);
      }),
  };
  return { forRole: () => model as unknown as Model } as unknown as Models;
}

test.each([
  ["en", true, "no answer after 0.001 s; it may still be loading"],
  ["en", false, "no answer after 0.001 s"],
  ["ja", true, "0.001 秒待っても応答なし（まだ読み込み中かもしれません）"],
] as const)(
  "a silent model is reported as silent, and not as broken: %s, local %p",
  async (locale, local, text) => {
    const [first] = await diagnoseModels(
      silent(local),
      { config: DEFAULTS as never, messages: messagesFor(locale) },
      1,
    );
    expect(first).toMatchObject({ ok: false, optional: true });
    expect(first?.text).toEndWith(`: ${text}`);
  },
);

/** Models without a key, but for those of these roles, which cannot be reached. */
function keylessBut(...roles: readonly string[]): Models {
  const failure = { code: "unreachable", message: "away\n→ start it", retryable: true };
  const away = (local: boolean) => ({ model: "m", local, check: async () => ({ ok: false, failure }) });
  const keyless = { code: "no-key", message: "no key\n→ export KEY", retryable: false };
  return {
    forRole: (role: string) => (roles.includes(role) ? away(!role.startsWith("coder")) : keyless),
  } as unknown as Models;
}

const remediesOf = async (models: Models) =>
  (await diagnoseModels(models, { config: DEFAULTS as never, messages: messagesFor("en") }))
    .filter(({ remedy }) => remedy !== undefined)
    .map(({ name, remedy }) => `${name}: ${remedy}`);

test("if nothing is set up, one piece of advice covers all roles", async () => {
  expect(await remediesOf(keylessBut("chat", "worker"))).toEqual([
    "models: picoclaw init (it finds models and asks for the rest), or paste a key: picoclaw login",
  ]);
});

test("with a key for one coder, the others are not a problem, and its model is offered for questions", async () => {
  const more = "or let your coder's model answer questions too: picoclaw chat /cloud on";
  expect(await remediesOf(keylessBut("chat", "worker", "coder3"))).toEqual([
    `model:chat: start it; ${more}`,
    `model:worker: start it; ${more}`,
    "model:coder3: start it",
  ]);
});

test("a coder on this machine is not offered as a cloud model", async () => {
  const remedies = await remediesOf({
    forRole: () => keylessBut("chat").forRole("chat"),
  } as unknown as Models);
  expect(remedies).toContain("model:chat: start it");
});
