import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { WorkerKindName } from "../../../../src/domain/config/configured-kinds.ts";
import { findWorkerKind, WORKER_KINDS } from "../../../../src/infrastructure/heads/kinds/find-kind.ts";

/** Recorded from codex 0.166.0, claude 2.1.325 and gemini 0.61.0. */
const recorded = (name: string) => readFileSync(join(import.meta.dir, "streams", `${name}.jsonl`), "utf8");

function read(kind: WorkerKindName, name: string, step = 7) {
  const reader = findWorkerKind(kind).createReader();
  const text = recorded(name);
  const progress = [];
  for (let at = 0; at < text.length; at += step) progress.push(...reader.feed(text.slice(at, at + step)));
  return { progress, findings: reader.end() };
}

const project = "/workspace/project";

describe("what the CLIs really print", () => {
  test("codex with its shell", () => {
    const { progress, findings } = read("codex-cli", "codex");
    expect(findings).toEqual({
      summary: "done",
      error: null,
      usage: { inputTokens: 40_279, outputTokens: 40, costUsd: 0 },
      saidChanged: [],
      sessionId: "01a1de04-c8f3-7060-a8a4-5cee0464dc6d",
    });
    expect(progress.map(({ kind }) => kind)).toEqual(["trouble", "command", "command", "command", "text"]);
    expect(progress[1]).toEqual({ kind: "command", command: "/bin/bash -lc ls" });
  });
  test("codex with its patches", () => {
    const { progress, findings } = read("codex-cli", "codex-edits");
    expect(findings.saidChanged).toEqual([`${project}/a.txt`, `${project}/b.txt`]);
    expect(progress.filter(({ kind }) => kind === "edit")).toHaveLength(2);
  });
  test("claude", () => {
    const { progress, findings } = read("claude-code", "claude");
    expect(findings).toEqual({
      summary: "done",
      error: null,
      usage: { inputTokens: 47_855, outputTokens: 40, costUsd: 0.19222 },
      saidChanged: [`${project}/a.txt`, `${project}/b.txt`],
      sessionId: "3908be2c-4e4b-4a72-b989-9a73357a559e",
    });
    expect(progress.map(({ kind }) => kind)).toEqual(["command", "edit", "edit", "text"]);
  });
  test("gemini", () => {
    const { progress, findings } = read("gemini-cli", "gemini");
    expect(findings).toEqual({
      summary: "done",
      error: null,
      usage: { inputTokens: 50_529, outputTokens: 40, costUsd: 0 },
      saidChanged: [`${project}/a.txt`, `${project}/b.txt`],
      sessionId: "bc873f7b-9530-43c8-827e-0aa6120986fa",
    });
    expect(progress.map(({ kind }) => kind)).toEqual(["command", "edit", "edit", "text"]);
  });
  test.each([
    ["codex-cli", "codex-401", "unauthorized"],
    ["claude-code", "claude-401", "unauthorized"],
    ["gemini-cli", "gemini-401", "unauthorized"],
    ["codex-cli", "codex-down", "unreachable"],
  ] as const)("%s: %s is %s", (kind, name, code) => {
    const { progress, findings } = read(kind, name);
    expect(progress.filter((one) => one.kind === "trouble" && one.code === code).length).toBeGreaterThan(0);
    expect(findings.error).not.toBe("");
    expect(findings.error).not.toBeNull();
  });
});

test("pieces of any size say the same", () => {
  for (const [kind, name] of [
    ["codex-cli", "codex"],
    ["claude-code", "claude"],
    ["gemini-cli", "gemini"],
  ] as const)
    for (const step of [1, 64, 100_000]) expect(read(kind, name, step)).toEqual(read(kind, name));
});

test("the older name means the same kind", () => {
  expect(findWorkerKind("claude-code-cli")).toBe(findWorkerKind("claude-code"));
});

test("for any output of a CLI, reading continues", () => {
  const lines = WORKER_KINDS.flatMap(({ name }) => recorded(name.split("-")[0] ?? "").split("\n"));
  const line = fc.oneof(
    fc.constantFrom(...lines),
    fc.json(),
    fc.string(),
    fc.constantFrom(...lines).map((one) => one.slice(0, one.length / 2)),
  );
  fc.assert(
    fc.property(fc.constantFrom(...WORKER_KINDS), fc.array(line), (kind, list) => {
      const reader = kind.createReader();
      for (const one of list)
        for (const progress of reader.feed(`${one}\n`)) expect(typeof progress.kind).toBe("string");
      const { summary, usage } = reader.end();
      expect([typeof summary, Number.isFinite(usage.inputTokens)]).toEqual(["string", true]);
    }),
  );
});

test("a line without end is not kept", () => {
  const reader = findWorkerKind("codex-cli").createReader();
  for (let i = 0; i < 20; i++) reader.feed("x".repeat(1024 ** 2));
  expect(
    reader.feed('\n{"type":"item.completed","item":{"type":"agent_message","text":"after"}}\n'),
  ).toHaveLength(1);
});
