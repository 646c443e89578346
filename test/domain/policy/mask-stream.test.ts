import { expect, test } from "bun:test";
import { createMasker } from "../../../src/domain/policy/mask.ts";
import { cpuTimeMs } from "../../cpu-time.ts";

const SECRET = "s3cr3t-value-0123456789";

function run(pieces: Iterable<string>, secrets: readonly string[] = []): { shown: string; mostHeld: number } {
  const stream = createMasker({ secrets }).maskStream();
  let shown = "";
  let taken = 0;
  let mostHeld = 0;
  for (const piece of pieces) {
    taken += piece.length;
    shown += stream.write(piece);
    mostHeld = Math.max(mostHeld, taken - shown.length);
  }
  return { shown: shown + stream.end(), mostHeld };
}

function* pieces(text: string, size: number): Generator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

test("whole lines are shown as they come", () => {
  const stream = createMasker().maskStream();
  expect(stream.write("one\ntw")).toBe("one\n");
  expect(stream.write("o\n")).toBe("two\n");
  expect(stream.write("50%\r100%")).toBe("50%\r");
  expect(stream.end()).toBe("100%");
});

test("a line without end is held back only so far, and a secret on any cut is found", () => {
  const line = `${"word ".repeat(997)}TOKEN=${SECRET}x `.repeat(100);
  for (const size of [1000, 4096, 65_536]) {
    const { shown, mostHeld } = run(pieces(line, size), [SECRET]);
    expect(shown.includes(SECRET)).toBe(false);
    expect(shown).toBe(line.replaceAll(`${SECRET}x`, "****"));
    expect(mostHeld).toBeLessThan(80_000 + size);
  }
});

test("a secret longer than all that is held becomes one mask", () => {
  const value = "aB3".repeat(100_000);
  expect(run(pieces(`before DB_PASSWORD=${value} after`, 10_000)).shown).toBe(
    "before DB_PASSWORD=**** after",
  );
});

test("a known secret of several lines is found over pieces", () => {
  const secret = "first line\nsecond line\nthird";
  const { shown } = run(pieces(`a\n${secret}\nb\n`, 3), [secret]);
  expect(shown).toBe("a\n****\nb\n");
});

test("a private key that comes line by line is never shown", () => {
  const body = `${"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVoxMjM0NTY3ODkw".repeat(1)}\n`.repeat(50);
  const text = `-----BEGIN PRIVATE KEY-----\n${body}-----END PRIVATE KEY-----\ndone\n`;
  expect(run(pieces(text, 49)).shown).toBe(
    "-----BEGIN PRIVATE KEY-----\n****\n-----END PRIVATE KEY-----\ndone\n",
  );
});

test("hostile text takes linear time", () => {
  const UNITS = [
    "token=",
    "token: ",
    "sk-",
    "eyJ-",
    "://a:",
    'token="',
    "token=$",
    "Bearer ",
    "-----BEGIN PRIVATE KEY-----\n",
  ];
  const costOf = (count: number) => {
    const started = cpuTimeMs();
    for (const unit of UNITS) createMasker().mask(unit.repeat(count));
    createMasker().mask(`-----BEGIN PRIVATE KEY-----\n${"A".repeat(6 * count)}`);
    return cpuTimeMs() - started;
  };
  costOf(5_000);
  let ratio = Number.POSITIVE_INFINITY;
  // A busy machine can only add time. Work that grows faster than its input exceeds the bound in every try.
  for (let attempt = 0; attempt < 4 && ratio > 3; attempt++) ratio = costOf(50_000) / costOf(25_000);
  expect(ratio).toBeLessThanOrEqual(3);
});
