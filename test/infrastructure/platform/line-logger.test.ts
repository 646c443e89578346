import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOG, type Logger } from "../../../src/application/ports/platform.ts";
import { createMasker } from "../../../src/domain/platform/mask.ts";
import { createLineLogger, type LoggerOptions } from "../../../src/infrastructure/platform/line-logger.ts";
import { makeTestFolder } from "../../left-behind.ts";

function setUp(overrides: Partial<LoggerOptions> = {}): LoggerOptions {
  const { mask } = createMasker({ secrets: ["known-secret-value"] });
  return {
    home: makeTestFolder("log"),
    level: "debug",
    mask,
    now: () => 1_764_000_000_000,
    ...overrides,
  };
}

const logText = ({ home }: LoggerOptions) => readFileSync(join(home, "logs", "picoclaw.log"), "utf8");

/** Everything a caller might pass. */
function writeAll(log: Logger): void {
  const circular: Record<string, unknown> = { a: 1 };
  circular.self = circular;
  const error = Object.assign(
    new TypeError("bad ANTHROPIC_API_KEY=sk-ant-1234", { cause: "known-secret-value" }),
    { code: "E1" },
  );
  error.stack = "TypeError: at known-secret-value";
  log.info("worker", ...LOG.executionStart, {
    patch: "```bash\nexport TOKEN=abcdef1\n```",
    session_key: "cli:default",
  });
  log.info("worker", ...LOG.commandExecuted, {
    command_index: 0,
    type: "file_edit",
    action: "update",
    target: "日本語.ts",
  });
  log.error("worker", ...LOG.commandFailed, {
    command_index: 1,
    error,
    circular,
    nested: { api_key: "zzz", list: [1, "known-secret-value", undefined] },
  });
  log.error("worker", ...LOG.executionFailed, {
    success: false,
    executed_cmds: 1,
    failed_cmds: 1,
    summary: 'a "quoted"\u2028\u0000 text',
  });
  log.warn("worker", ...LOG.autoCommitFailed, {
    error: "x",
    nothing: undefined,
    none: null,
    big: 10n,
    nan: Number.NaN,
    fn: () => 1,
  });
  log.debug("config", "config.loaded", "config.loaded", {
    level: 3,
    time: "t",
    msg: "m",
    bytes: new Uint8Array(5),
    when: new Date(0),
  });
  log.info("worker", "worker.empty", "worker.empty");
  log.info("worker", "worker.long", "worker.long", { text: "x".repeat(100_000) });
}

describe("the logger", () => {
  test("carries both vocabularies in pino's shape", () => {
    const options = setUp();
    const log = createLineLogger(options);
    log.info("worker", ...LOG.executionStart, { patch: "p", session_key: "cli:default" });
    expect(logText(options)).toBe(
      '{"level":30,"time":1764000000000,"component":"worker","event":"worker.execution_started","patch":"p","session_key":"cli:default","msg":"worker.patch_execution_start"}\n',
    );
  });

  test("masks every string, however deep", () => {
    const options = setUp();
    writeAll(createLineLogger(options));
    const text = logText(options);
    expect(text).not.toContain("known-secret-value");
    expect(text).not.toContain("sk-ant-1234");
    expect(text).not.toContain("abcdef1");
    expect(text).not.toContain("zzz");
    expect(text).toContain("ANTHROPIC_API_KEY=sk-ant-****");
    for (const line of text.trimEnd().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
  });

  test("writes nothing below its level, and makes no file for nothing", () => {
    const options = setUp({ level: "warn" });
    const log = createLineLogger(options);
    log.debug("a", "b", "c");
    log.info("a", "b", "c");
    expect(existsSync(join(options.home, "logs"))).toBe(false);
    log.warn("a", "b", "c");
    log.error("a", "b", "c");
    expect(logText(options).trimEnd().split("\n")).toHaveLength(2);
  });

  test("rotates by size and keeps three files, for its user's eyes only", () => {
    const options = setUp({ limitBytes: 2000 });
    const log = createLineLogger(options);
    for (let i = 0; i < 100; i += 1) log.info("worker", "line", "line", { i, text: "x".repeat(100) });
    const folder = join(options.home, "logs");
    expect(readdirSync(folder).sort()).toEqual(["picoclaw.log", "picoclaw.log.1", "picoclaw.log.2"]);
    for (const file of readdirSync(folder)) {
      expect(statSync(join(folder, file)).size).toBeLessThanOrEqual(2000);
      expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    }
    expect(logText(options)).toContain('"i":99');
  });

  test("never fails the caller, even if something cannot be written or read", () => {
    const options = setUp();
    writeFileSync(join(options.home, "logs"), "a file where the folder should be");
    const log = createLineLogger(options);
    log.info("worker", "a", "b", { x: 1 });
    const hostile = setUp();
    mkdirSync(join(hostile.home, "logs", "picoclaw.log"), { recursive: true });
    const other = createLineLogger(hostile);
    other.error("worker", "a", "b", {
      get boom(): never {
        throw new Error("getter");
      },
    });
  });
});
