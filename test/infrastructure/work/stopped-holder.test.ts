import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withFolderLocks } from "../../../src/infrastructure/work/transaction/lock.ts";
import { findStoppedHolder } from "../../../src/infrastructure/work/transaction/stopped-holder.ts";

describe.if(process.platform === "linux")("a process that holds the lock of a folder", () => {
  let folder: string;
  let holder: ChildProcess;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "picoclaw-holder-"));
    const script = join(import.meta.dir, "lock-child.ts");
    holder = spawn(process.execPath, ["--no-env-file", script, folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(holder.stdout!, "data");
  }, 30_000);
  afterEach(() => {
    holder.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  const stop = async () => {
    holder.kill("SIGSTOP");
    while (findStoppedHolder(folder) === null) await Bun.sleep(5);
  };

  test("is waited for while it runs", async () => {
    const busy = await withFolderLocks([folder], { timeoutMs: 700, deadAfterMs: 0 }, () => "mine");
    expect(busy).toBe("busy");
    expect([holder.exitCode, holder.signalCode]).toEqual([null, null]);
  }, 30_000);

  test("and is stopped is ended after a while, before its successor takes the lock", async () => {
    await stop();
    expect(findStoppedHolder(folder)?.pid).toBe(holder.pid as number);
    const ended = once(holder, "exit");
    const taken = await withFolderLocks([folder], { timeoutMs: 60_000, deadAfterMs: 1 }, () => "mine");
    expect(taken).toBe("mine");
    expect(await ended).toEqual([null, "SIGKILL"]);
  }, 60_000);

  test("and is stopped for a shorter time goes on", async () => {
    await stop();
    const busy = await withFolderLocks([folder], { timeoutMs: 700, deadAfterMs: 60_000 }, () => "mine");
    expect(busy).toBe("busy");
    holder.kill("SIGCONT");
    expect([holder.exitCode, holder.signalCode]).toEqual([null, null]);
  }, 30_000);

  test("of one folder is nobody to those who wait for another", async () => {
    const other = mkdtempSync(join(tmpdir(), "picoclaw-other-"));
    await stop();
    expect(findStoppedHolder(other)).toBeNull();
    rmSync(other, { recursive: true, force: true });
  }, 30_000);
});
