import { describe, expect, test } from "bun:test";
import { parseFlags } from "../../../src/adapters/cli/command.ts";

const TYPES = { json: "boolean", help: "boolean", job: "string" } as const;
const ok = (values: Readonly<Record<string, string | boolean>>, words: readonly string[] = []) => ({
  ok: true,
  flags: { values, words },
});
const bad = (problem: string, flag: string) => ({ ok: false, problem, flag });

describe("flags", () => {
  test.each([
    ["none", [], ok({})],
    ["words and flags in any order", ["a", "--json", "b"], ok({ json: true }, ["a", "b"])],
    ["a value after a blank", ["--job", "x"], ok({ job: "x" })],
    ["a value after an equals sign", ["--job=x=y"], ok({ job: "x=y" })],
    ["an empty value", ["--job="], ok({ job: "" })],
    ["the last one counts", ["--job", "a", "--job", "b"], ok({ job: "b" })],
    ["-h", ["-h"], ok({ help: true })],
    ["a lone dash is a word", ["-"], ok({}, ["-"])],
    ["a dash as a value", ["--job", "-"], ok({ job: "-" })],
    ["after -- all are words", ["--", "--json", "-x"], ok({}, ["--json", "-x"])],
    ["an unknown flag", ["--nope=1"], bad("unknown", "--nope")],
    ["an unknown letter", ["-x"], bad("unknown", "-x")],
    ["a name of Object", ["--constructor"], bad("unknown", "--constructor")],
    ["a value that is missing", ["--job"], bad("missing-value", "--job")],
    ["a flag where a value goes", ["--job", "--json"], bad("missing-value", "--job")],
    ["a value where none goes", ["--json=1"], bad("no-value", "--json=1")],
  ] as const)("%s", (_name, args, expected) => {
    expect(parseFlags(args, TYPES)).toEqual(expected as ReturnType<typeof parseFlags>);
  });
});
