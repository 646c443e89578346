import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AT_FDCWD,
  flock,
  hasWriters,
  renameExchange,
  renameNoReplace,
  syncfs,
  tryFlock,
} from "../../../src/infrastructure/platform/libc.ts";
import {
  reapChild,
  setChildSubreaper,
  withInheritedTag,
} from "../../../src/infrastructure/platform/process-calls.ts";
import {
  copyXattrs,
  getXattr,
  listXattrs,
  removeXattr,
  setXattrFd,
} from "../../../src/infrastructure/platform/xattr.ts";

const linux = process.platform === "linux";
const folder = mkdtempSync(join(tmpdir(), "picoclaw-libc-"));
const path = (name: string) => join(folder, name);
const open: number[] = [];
const opened = (name: string, flags = "r+") => {
  const fd = openSync(path(name), flags);
  open.push(fd);
  return fd;
};

/** By closing, as the program does it. */
const released = (fd: number) => {
  open.splice(open.indexOf(fd), 1);
  closeSync(fd);
};

beforeAll(() => writeFileSync(path("lock"), ""));
afterAll(() => {
  for (const fd of open) closeSync(fd);
  rmSync(folder, { recursive: true, force: true });
});

describe.if(linux)("whether a file has writers", () => {
  test("is known while a process has it open for writing, and no lease stays behind", () => {
    writeFileSync(path("leased"), "");
    const reader = opened("leased", "r");
    expect(hasWriters(reader)).toEqual({ ok: true, value: false });
    const writer = opened("leased", "r+");
    expect(hasWriters(reader)).toEqual({ ok: true, value: true });
    released(writer);
    expect(hasWriters(reader)).toEqual({ ok: true, value: false });
    // A lease that stayed would make this open wait for half a minute.
    released(opened("leased", "a"));
  });

  test("counts oneself", () => {
    expect(hasWriters(opened("lock", "r+"))).toEqual({ ok: true, value: true });
    expect(hasWriters(9999)).toMatchObject({ code: "EBADF" });
  });
});

describe("a file lock", () => {
  test("excludes a second open of the same file until it is released", async () => {
    const [a, b] = [opened("lock"), opened("lock")];
    expect(tryFlock(a).ok).toBe(true);
    expect(tryFlock(b)).toEqual({ ok: false, reason: "busy" });
    expect(await flock(b, 20)).toEqual({ ok: false, reason: "timed-out" });
    const waiting = flock(b, 5_000);
    released(a);
    expect((await waiting).ok).toBe(true);
    released(b);
  });

  test("the event loop lives while it is waited for", async () => {
    const [a, b] = [opened("lock"), opened("lock")];
    tryFlock(a);
    setTimeout(() => released(a), 10);
    expect((await flock(b, 5_000)).ok).toBe(true);
    released(b);
  });

  test("a bad descriptor is an error with its name", () => {
    expect(tryFlock(9999)).toMatchObject({ ok: false, reason: "failed", code: "EBADF" });
  });
});

describe("renaming", () => {
  test("exchange swaps two names, a folder and a file too", () => {
    mkdirSync(path("folder"));
    writeFileSync(path("folder/inside"), "in the folder");
    writeFileSync(path("file"), "the file");
    expect(renameExchange(AT_FDCWD, path("folder"), AT_FDCWD, path("file"))).toEqual({
      ok: true,
      value: undefined,
    });
    expect(readFileSync(path("folder"), "utf8")).toBe("the file");
    expect(readFileSync(path("file/inside"), "utf8")).toBe("in the folder");
  });

  test("names are relative to the given folders", () => {
    const dir = opened(".", "r");
    writeFileSync(path("日本"), "one");
    expect(renameNoReplace(dir, "日本", dir, "two").ok).toBe(true);
    expect(readFileSync(path("two"), "utf8")).toBe("one");
  });

  test("no-replace leaves an existing target alone", () => {
    writeFileSync(path("a"), "a");
    writeFileSync(path("b"), "b");
    expect(renameNoReplace(AT_FDCWD, path("a"), AT_FDCWD, path("b"))).toMatchObject({ code: "EEXIST" });
    expect(readFileSync(path("b"), "utf8")).toBe("b");
  });

  test("a missing name says ENOENT", () => {
    expect(renameExchange(AT_FDCWD, path("none"), AT_FDCWD, path("a"))).toMatchObject({ code: "ENOENT" });
  });

  test("a name with NUL is refused, not cut", () => {
    expect(() => renameNoReplace(AT_FDCWD, "a\0b", AT_FDCWD, path("c"))).toThrow(TypeError);
  });
});

describe.if(linux)("extended attributes", () => {
  const acl = Buffer.from(
    "0200000001000600ffffffff02000600e803000004000400ffffffff10000600ffffffff20000400ffffffff",
    "hex",
  );
  const value = (of: string | number, name: string) => {
    const got = getXattr(of, name);
    return got.ok ? Buffer.from(got.value).toString() : got.reason;
  };

  test("are copied with access lists, and what the source lacks is taken away", () => {
    writeFileSync(path("from"), "");
    writeFileSync(path("to"), "");
    const [from, to] = [opened("from"), opened("to")];
    expect(setXattrFd(from, "user.one", Buffer.from("1")).ok).toBe(true);
    expect(setXattrFd(from, "user.empty", new Uint8Array()).ok).toBe(true);
    expect(setXattrFd(from, "user.large", Buffer.alloc(2000, "x")).ok).toBe(true);
    expect(setXattrFd(from, "system.posix_acl_access", acl).ok).toBe(true);
    setXattrFd(to, "user.old", Buffer.from("old"));
    const names = ["system.posix_acl_access", "user.empty", "user.large", "user.one"];
    expect(copyXattrs(path("from"), to).ok).toBe(true);
    const listed = listXattrs(path("to"));
    expect(listed.ok && [...listed.value].sort()).toEqual(names);
    expect([value(to, "user.one"), value(to, "user.empty"), value(to, "user.large").length]).toEqual([
      "1",
      "",
      2000,
    ]);
    expect(value(path("to"), "system.posix_acl_access")).toBe(value(from, "system.posix_acl_access"));
  });

  test("removing one is idempotent and does not follow a symlink", () => {
    writeFileSync(path("target"), "");
    symlinkSync("target", path("link"));
    setXattrFd(opened("target"), "user.kept", Buffer.from("k"));
    removeXattr(path("link"), "user.kept");
    expect(value(path("target"), "user.kept")).toBe("k");
    expect([
      removeXattr(path("target"), "user.kept").ok,
      removeXattr(path("target"), "user.kept").ok,
    ]).toEqual([true, true]);
    expect(listXattrs(path("target"))).toEqual({ ok: true, value: [] });
  });

  test("a file system without attributes has none", () => {
    expect(listXattrs("/proc/self/stat")).toEqual({ ok: true, value: [] });
    expect(copyXattrs("/proc/self/stat", opened("lock")).ok).toBe(true);
  });

  test("a missing file is an error", () => {
    expect(listXattrs(path("none"))).toMatchObject({ ok: false, code: "ENOENT" });
  });
});

describe.if(linux)("processes", () => {
  test("sub-reaper can be set twice", () => {
    expect([setChildSubreaper().ok, setChildSubreaper().ok]).toEqual([true, true]);
  });

  test("another process's child cannot be reaped", () => {
    expect(reapChild(1)).toMatchObject({ ok: false, code: "ECHILD" });
  });

  test("a tag is inherited by what starts inside, also through an empty environment, and not kept", () => {
    const limits = () => readFileSync("/proc/self/limits", "utf8");
    const before = limits();
    const started = withInheritedTag(4242424242424242n, () =>
      Bun.spawnSync(["env", "-i", "setsid", "-w", "cat", "/proc/self/limits"]).stdout.toString(),
    );
    expect(started).toContain("4242424242424242");
    expect(limits()).toBe(before);
    expect(() =>
      withInheritedTag(1n, () => {
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(limits()).toBe(before);
  });

  test("a file system can be synced", () => {
    expect(syncfs(opened("lock")).ok).toBe(true);
    expect(syncfs(9999)).toMatchObject({ code: "EBADF" });
  });
});
