/** One opening of a file tells what the runtime tells in three; what it cannot tell, it leaves to the caller. */
import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lstatEntry } from "../../../src/infrastructure/platform/entry-stats.ts";
import { lookInto } from "../../../src/infrastructure/platform/read-file.ts";
import { listXattrs, setXattrFd } from "../../../src/infrastructure/platform/xattr.ts";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-read-"));
afterAll(() => rmSync(folder, { recursive: true }));

const at = (name: string) => join(folder, name);
const room = new Uint8Array(64);
writeFileSync(at("file"), "日本 12345");
writeFileSync(at("empty"), "");
writeFileSync(at("just fits"), "x".repeat(63));
writeFileSync(at("fills the room"), "x".repeat(64));
writeFileSync(at("larger"), "x".repeat(1000));
writeFileSync(at("with attributes"), "x");
mkdirSync(at("folder"));
symlinkSync("file", at("link"));
spawnSync("mkfifo", [at("fifo")]);
const descriptor = openSync(at("with attributes"), "r+");
setXattrFd(descriptor, "user.one", Buffer.from("1"));
closeSync(descriptor);

const descriptors = () => readdirSync("/proc/self/fd").length;

test.if(process.platform === "linux").each(["file", "empty", "just fits", "with attributes"])(
  "a file: %s",
  (name) => {
    const names = listXattrs(at(name));
    const anchor = openSync(folder, constants.O_DIRECTORY);
    for (const path of [at(name), `/proc/self/fd/${anchor}/${name}`]) {
      const look = lookInto(path, room);
      expect(look?.length).toBe(lstatEntry(at(name))?.size as number);
      expect(look?.stats).toEqual(lstatEntry(at(name)) as never);
      expect(look?.attributes).toEqual(names.ok ? names.value : null);
    }
    closeSync(anchor);
  },
);

test.each(["fills the room", "larger", "folder", "link", "fifo", "missing", "file/below"])(
  "not this way: %s",
  (name) => {
    const before = process.platform === "linux" ? descriptors() : 0;
    expect(lookInto(at(name), room)).toBeNull();
    if (process.platform === "linux") expect(descriptors()).toBe(before);
  },
);

test.if(process.platform === "linux")("the bytes lie at the beginning of the room", () => {
  expect(Buffer.from(room.subarray(0, lookInto(at("file"), room)?.length)).toString()).toBe("日本 12345");
});
