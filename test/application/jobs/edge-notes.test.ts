import { describe, expect, test } from "bun:test";
import { failedOutcome, succeededOutcome } from "../../../src/application/jobs/file-edit.ts";
import { limitNotes, networkNotes } from "../../../src/application/jobs/run-process-command.ts";
import type { Transaction } from "../../../src/application/ports/jobs-transaction.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { changeLines } from "../../../src/domain/texts/jobs-notes.ts";

test("the bookkeeping of each git directory is a line of its own", () => {
  const paths = [".git/index", "lib/q/.git/HEAD", "lib/q/.git/modules/m/.git/x", "a.git/b"];
  const changes = paths.map((path) => ({ path, kind: "added" as const }));
  expect(changeLines(messagesFor("en"), changes)).toBe(
    "Changed files: 1\n  A a.git/b\n  M .git (1)\n  M lib/q/.git (2)",
  );
});

const refused = [{ host: "evil.example", reason: "not-allowed", count: 3 }] as const;
const unreachable = failedOutcome("command failed", "curl: (6) Could not resolve host: a.example");
const view = (network: Pick<Transaction, "network" | "takeTraffic">) => ({
  ...network,
  startedBy: "user" as const,
});

describe("the message about a command names a network that it lacked:", () => {
  test("what a list refused, by host", () => {
    const transaction = view({ network: "allow-list", takeTraffic: () => ({ refused, reached: [] }) });
    expect(networkNotes(transaction, succeededOutcome("")).notes).toEqual([
      { code: "host-refused", host: "evil.example", reason: "not-allowed", count: 3 },
    ]);
    expect(networkNotes(transaction).notes).toHaveLength(1);
  });

  test("why a program reached no host, if it failed because of that", () => {
    const listed = view({ network: "allow-list", takeTraffic: () => ({ refused: [], reached: [] }) });
    expect(networkNotes(listed, unreachable).notes).toEqual([
      { code: "network-limited", network: "allow-list" },
    ]);
    expect(networkNotes(view({ network: "off" }), unreachable).notes).toEqual([
      { code: "network-limited", network: "off" },
    ]);
    expect(networkNotes(listed, succeededOutcome(unreachable.output)).notes).toEqual([]);
    expect(networkNotes(listed, failedOutcome("command failed", "no such file")).notes).toEqual([]);
    expect(networkNotes(listed).notes).toEqual([]);
  });

  test("nothing where the network is the user's own", () => {
    expect(networkNotes(view({}), unreachable).notes).toEqual([]);
  });
});

describe("a limit that a command seems to have met is named", () => {
  const limits = { memory: 1024 ** 3, file_size: 1024, open_files: 64, processes: 100, disk: 0 };
  test.each([
    ["MemoryError", "memory"],
    ["terminate called after throwing an instance of 'std::bad_alloc'", "memory"],
    ["command failed: signal: SIGXFSZ", "file_size"],
    ["write error: File too large", "file_size"],
    ["OSError: [Errno 24] Too many open files", "open_files"],
    ["bash: fork: retry: Resource temporarily unavailable", "processes"],
  ] as const)("%s → %s", (said, limit) => {
    expect(limitNotes(limits, said)).toEqual([{ code: "limit-met", limit, value: limits[limit] }]);
  });

  test("and none that is not set, or that it said nothing of", () => {
    const none = { memory: 0, file_size: 0, open_files: 0, processes: 0, disk: 0 };
    expect(limitNotes(none, "MemoryError, Too many open files")).toEqual([]);
    expect(limitNotes(limits, "exit status 1")).toEqual([]);
  });
});
