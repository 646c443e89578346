import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import {
  countThreads,
  countThreadsOfUser,
  findControlGroup,
  findRoomInGroups,
  findRoomInMachine,
  openBoundedGroup,
} from "../../../src/infrastructure/platform/control-groups.ts";
import { divideRoom, openProcessBound } from "../../../src/infrastructure/sandbox/process-bound.ts";
import { until } from "../../e2e/cli-kit.ts";
import { hasExactRooms } from "../../hostile/little-room.ts";

test("a job never gets all that is left, however little that is, and a useful part of much", () => {
  for (let left = 0; left < 20_000; left += 7) {
    const { kept, spare, most } = divideRoom(left);
    expect(kept).toBeGreaterThanOrEqual(Math.floor(left / 4));
    if (left >= 64) expect(kept + spare + most).toBeLessThanOrEqual(left);
    expect(most).toBeGreaterThanOrEqual(8);
  }
  expect(divideRoom(14_000).most).toBeGreaterThan(8192);
  expect(divideRoom(4000)).toEqual({ kept: 1000, spare: 64, most: 2936 });
});

describe.if(process.platform === "linux")("remaining room on this machine", () => {
  test("is counted by the machine, and by the groups where there are any", () => {
    expect(findRoomInMachine()).toBeGreaterThan(100);
    expect(countThreads()).toBeGreaterThanOrEqual(countThreadsOfUser(process.getuid?.() ?? 0));
    const group = findControlGroup("pids");
    if (group !== null) expect(findRoomInGroups(group)).toBeGreaterThan(0);
  });

  test("bounds a job by the configuration where there is room, and leaves nothing behind", () => {
    const bound = openProcessBound(100, true);
    expect(bound.most).toBe(100);
    expect(bound.isReached()).toBe(false);
    bound.release();
    bound.release();
  });
});

describe.if(process.platform === "linux" && hasExactRooms)("a group", () => {
  test("holds as many processes as it may, and counts those that it refused", () => {
    const pids = findControlGroup("pids");
    const group = pids && openBoundedGroup(pids, `picoclaw-test-${crypto.randomUUID()}`, "3");
    if (group === null) throw new Error("no group");
    const script = `echo 0 > ${group.folder}/cgroup.procs; for i in 1 2 3 4 5; do (sleep 0) & done; wait`;
    Bun.spawnSync(["bash", "-c", script], { stdio: ["ignore", "ignore", "ignore"] });
    expect(group.refusals()).toBeGreaterThan(0);
    expect(group.count()).toBe(0);
    expect(group.remove()).toBe(true);
  });

  test("is removed also if its last process takes a while to end", async () => {
    const bound = openProcessBound(100, true);
    const { entrance } = bound;
    if (entrance === null) throw new Error("no group");
    const child = Bun.spawn(["sh", "-c", `echo 0 > ${entrance} && echo in && exec sleep 1`], {
      stdout: "pipe",
    });
    await child.stdout.getReader().read();
    bound.release();
    await child.exited;
    await until(() => !existsSync(dirname(dirname(entrance))));
  });
});
