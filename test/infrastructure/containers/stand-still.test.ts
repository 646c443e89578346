import { describe, expect, test } from "bun:test";
import { freezeContainer, thawContainer } from "../../../src/infrastructure/containers/container-state.ts";
import { failureFromStatus, sandboxFailure } from "../../../src/infrastructure/containers/docker-engine.ts";

/** An engine that holds a container for paused, or not, for some calls after that changed. */
function lateEngine(start: { stands: boolean; counts: boolean; late: number }) {
  const at = { ...start };
  const asked: string[] = [];
  const settle = () => {
    if (at.late > 0) at.late--;
    else at.counts = at.stands;
  };
  const parts = {
    pause: async () => {},
    engine: {
      async call(_: string, path: string) {
        settle();
        const wants = path.endsWith("/pause");
        asked.push(wants ? "pause" : "unpause");
        if (at.counts === wants)
          return failureFromStatus(409, `Container c is ${wants ? "already" : "not"} paused`, path);
        at.counts = wants;
        at.stands = wants;
        return { ok: true, status: 204, value: null as never, headers: new Headers() } as const;
      },
    },
  };
  return { at, asked, parts };
}

describe("a container whose engine hears of its pauses late", () => {
  test("is paused although it counts as paused for a moment", async () => {
    const { at, asked, parts } = lateEngine({ stands: false, counts: true, late: 3 });
    expect(await freezeContainer(parts, "c")).toBe(true);
    expect([at.stands, asked.length]).toEqual([true, 4]);
  });

  test("that is already suspended is reported so, for any waiting time", async () => {
    const { at, parts } = lateEngine({ stands: true, counts: true, late: 0 });
    expect(await freezeContainer(parts, "c")).toBe(true);
    expect(at.stands).toBe(true);
  });

  test("continues although it counts as running", async () => {
    const { at, parts } = lateEngine({ stands: true, counts: false, late: 100 });
    await thawContainer(parts, "c");
    expect(at.stands).toBe(false);
  });

  test.each(["container-missing", "container-stopped", "engine-unreachable"] as const)(
    "is not asked again when the answer is %s",
    async (code) => {
      let asked = 0;
      const call = async () => {
        asked++;
        return sandboxFailure(code, "");
      };
      const parts = { engine: { call }, pause: async () => {} };
      expect(await freezeContainer(parts, "c")).toBe(false);
      await thawContainer(parts, "c");
      expect(asked).toBe(2);
    },
  );
});
