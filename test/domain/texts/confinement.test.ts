import { expect, test } from "bun:test";
import { confinementMessages } from "../../../src/domain/texts/policy.ts";

const REASONS = ["bad-host", "not-allowed", "port", "denied", "address"] as const;
const LIMITS = ["memory", "file_size", "open_files", "processes"] as const;
const limits = { memory: 0, file_size: 0, open_files: 64, processes: 8192, disk: 20 * 1024 ** 3 };

const said = (locale: "ja" | "en") => {
  const messages = confinementMessages(locale);
  return [
    ...REASONS.map((reason) => messages.refusedHost({ host: "evil.example", reason, count: 3 })),
    messages.refusedHost({ host: "evil.example", reason: "denied", count: 1 }),
    messages.limited,
    messages.limitedPromise,
    messages.homeHidden(["~/.foo"]),
    messages.homeHidden(["~/.foo", "~/.bar"]),
    messages.networkLimited("off"),
    messages.networkLimited("allow-list"),
    messages.networkUnavailable("off"),
    messages.networkPromise("on", true, []),
    messages.networkPromise("off", true, []),
    messages.networkPromise("off", false, []),
    messages.networkPromise("allow_list", true, []),
    messages.networkPromise("allow_list", true, ["a.example", "b.example"]),
    ...LIMITS.map((limit) => messages.limitMet(limit, 4096)),
    messages.diskReached("changes", 5000, 4096),
    messages.diskReached("home", 5000, 4096),
    messages.processesReached(8192, 8192),
    messages.processesReached(60, 8192),
    messages.noProcessesLeft(1),
    messages.noProcessesLeft(5),
    messages.memoryRanOut,
    messages.memoryRanOutIn,
    messages.limitsPromise(limits, true),
    messages.limitsPromise(limits, false),
    messages.macos,
  ];
};

test("everything said of the edges of a job is said in both languages, each thing in its own words", () => {
  const [ja, en] = [said("ja"), said("en")];
  expect(new Set([...ja, ...en]).size).toBe(ja.length + en.length);
  for (const text of ja) expect(text).toMatch(/[ぁ-んァ-ヶ一-龠]/);
  for (const text of en) expect(text).toMatch(/^[\x20-\x7e]+$/);
});

test("a limit is given with its unit, and an absent limit is not mentioned", () => {
  const en = confinementMessages("en");
  expect(en.limitMet("open_files", 64)).toContain("worker.limits.open_files (64)");
  expect(en.limitMet("memory", 1024 ** 3)).toMatch(/worker\.limits\.memory \(1(\.0)? GiB\)/);
  expect(en.limitsPromise(limits, true)).toMatch(/open_files 64, processes 8192, disk 20(\.0)? GiB\./);
  expect(en.limitsPromise(limits, true)).not.toContain("file_size 0");
});
