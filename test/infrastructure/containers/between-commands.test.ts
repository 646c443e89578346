import { afterAll, describe, expect, test } from "bun:test";
import { requirePart } from "../../require.ts";
import { LIMITS, openRealEngine } from "./real-engine.ts";

/** A bomb that goes on in the background, however often it is refused a process. */
const BOMB = `cat > /workspace/tmp/bomb.sh <<'X'
while :; do (sh /workspace/tmp/bomb.sh &) 2>/dev/null; sleep 0.05; done
X
(setsid sh /workspace/tmp/bomb.sh >/dev/null 2>&1 &); sleep 1; echo started`;

if (requirePart("docker"))
  describe("limits between commands", () => {
    const engine = openRealEngine();
    afterAll(() => engine.end());

    test("a fork bomb in the background does not block the next command, whichever process gives it", async () => {
      // The fewer processes it has, the less of the machine it takes while it is waited for.
      const { id } = await engine.start({ limits: { ...LIMITS, pids: 40 } });
      expect((await engine.run(id, BOMB)).stdout).toContain("started");
      await engine.run(id, "echo kept > kept");
      const other = engine.another();
      const look = () => other.exec(id, { command: "cat kept", timeoutMs: 120_000, outputLimitBytes: 1000 });
      let after = await look();
      // A shell that just found room for itself may find none for what it starts: that command's result names the limit.
      const until = Date.now() + 60_000;
      while (after.limit?.kind === "processes" && Date.now() < until) after = await look();
      expect(after).toMatchObject({ outcome: "exited", exitCode: 0, stdout: "kept\n" });
    }, 300_000);

    test("what a background process writes counts between commands", async () => {
      const { id } = await engine.start();
      const fill =
        "(setsid sh -c 'i=0; while :; do head -c 50000000 /dev/zero > /workspace/tmp/f$i; i=$((i+1)); sleep 0.2; done' >/dev/null 2>&1 &); echo started";
      expect((await engine.run(id, fill)).stdout).toContain("started");
      const until = Date.now() + 60_000;
      let left = await engine.sandbox.listProcesses(id);
      while (Array.isArray(left) && left.length > 0 && Date.now() < until) {
        await Bun.sleep(200);
        left = await engine.sandbox.listProcesses(id);
      }
      expect(left).toEqual([]);
    }, 300_000);

    test("so does what many short commands write", async () => {
      const { id } = await engine.start();
      let ended: string | undefined;
      for (let i = 0; i < 40 && ended === undefined; i++)
        ended = (await engine.run(id, `head -c 30000000 /dev/zero > /workspace/tmp/g${i}; sleep 0.3`)).limit
          ?.kind;
      expect(ended).toBe("disk");
    }, 300_000);
  });
