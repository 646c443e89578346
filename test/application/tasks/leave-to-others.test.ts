import { expect, test } from "bun:test";
import type { Machine } from "../../../src/application/ports/fleet.ts";
import { createTaskGate } from "../../../src/application/tasks/forge-service.ts";

const machine = (id: string, labels: readonly string[], more: Partial<Machine> = {}): Machine => ({
  id,
  name: id,
  here: true,
  seenAt: new Date(0),
  processes: [
    {
      kind: "join",
      root: "/",
      labels,
      lanes: 1,
      busy: 0,
      version: "1",
      draining: false,
      startedAt: new Date(0),
    },
  ],
  ...more,
});

const own = machine("own", ["docker", "gpu"]);
test.each([
  ["its engine answers", null, [own, machine("b", ["docker", "gpu"])], true],
  ["nobody else is there: who asked is told", "away", [own], true],
  ["another has an engine and what is needed", "away", [own, machine("b", ["docker", "gpu"])], false],
  ["another lacks what is needed", "away", [own, machine("b", ["docker"])], true],
  ["another's engine is away too", "away", [own, machine("b", ["gpu"])], true],
  ["another was not heard of", "away", [own, machine("b", ["docker", "gpu"], { here: false })], true],
] as const)("a machine takes tasks or leaves them: %s", async (_, trouble, machines, takes) => {
  const gate = createTaskGate({
    fleet: { machines: async () => machines },
    machineId: "own",
    needs: ["gpu"],
    engineTrouble: async () => trouble,
    clock: () => 0,
  });
  expect(gate.lacking()).toEqual([]);
  expect(await gate.mayTake()).toBe(takes);
  expect(gate.lacking()).toEqual(trouble === null ? [] : ["docker"]);
});

test("an engine that is back is noticed without a task", async () => {
  const engine: { now: number; trouble: string | null } = { now: 0, trouble: "away" };
  const gate = createTaskGate({
    fleet: { machines: async () => [] },
    machineId: "own",
    needs: [],
    engineTrouble: async () => engine.trouble,
    clock: () => engine.now,
  });
  await gate.mayTake();
  engine.trouble = null;
  engine.now = 3_000;
  expect(gate.lacking()).toEqual(["docker"]);
  await Promise.resolve();
  expect(gate.lacking()).toEqual([]);
});
