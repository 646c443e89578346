import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseListeners } from "../../../src/infrastructure/sandbox/listening-ports.ts";
import {
  isProcessName,
  nameFromCommand,
  openProcessLog,
  readLogTail,
} from "../../../src/infrastructure/sandbox/process-record.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-record-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("the log of a process", () => {
  test("keeps the end within its limit, however much is printed", () => {
    const log = openProcessLog(folder, 16_384);
    log.hurry();
    for (let line = 0; line < 5_000; line++) log.add(`line ${line}\n`);
    log.add("x".repeat(100_000));
    log.add("\nlast\n");
    const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    expect(bytes).toBeLessThanOrEqual(16_384);
    expect(readLogTail(folder, 1)).toEqual({ text: "last", cut: true });
  });

  test("is read across its two files, and says whether something is left out", () => {
    const log = openProcessLog(folder, 8_192);
    log.add("first\n");
    expect(readLogTail(folder, 10)).toEqual({ text: "first", cut: false });
    log.add(`${"a".repeat(4_080)}\n`);
    log.add("second\nthird\n");
    expect(readLogTail(folder, 2)).toEqual({ text: "second\nthird", cut: true });
    expect(readLogTail(folder, 10).text.split("\n")[0]).toBe("first");
  });

  test("of a process that printed nothing is empty", () => {
    expect(readLogTail(folder, 10)).toEqual({ text: "", cut: false });
  });
});

test.each([
  ["npm run dev", "dev"],
  ["bun dev --port 3", "dev"],
  ["PORT=3 ./bin/server --x", "server"],
  ["python3 -m http.server", "python3"],
  ["make watch", "watch"],
  ["npm", "process"],
  ["'quoted thing'", "quoted"],
  ["サーバー 起動", "サーバー"],
])("a process without a name is called after its command: %s", (command, name) => {
  expect(nameFromCommand(command)).toBe(name);
  expect(isProcessName(name)).toBe(true);
});

test.each(["", ".", "..", "a/b", "../x", "-x", "a b", "x".repeat(41), "a\0b"])("is no name: %p", (name) => {
  expect(isProcessName(name)).toBe(false);
});

test("listeners are read off the kernel's table: those that the loopback leads to", () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1
   1: 00000000:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 222 1
   2: 0A00000A:0BB9 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 333 1
   3: 0100007F:1F91 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 444 1
   4: 00000000000000000000000001000000:1770 00000000000000000000000000000000:0000 0A 0:0 00:0 0 1000 0 555 1
`;
  expect([...parseListeners(table)]).toEqual([
    ["111", 8080],
    ["222", 3000],
    ["555", 6000],
  ]);
});
