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
  "a model that is silent is told as that, and not as broken: %s, local %p",
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
