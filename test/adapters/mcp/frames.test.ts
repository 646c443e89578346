import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { createFrameReader, createRequestIdScanner } from "../../../src/domain/platform/json-lines.ts";

/** Cuts bytes at the given places. */
function pieces(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...cuts].map((cut) => cut % (bytes.length + 1)).sort((x, y) => x - y);
  return [...places, bytes.length].map((end, at) => bytes.subarray(at === 0 ? 0 : places[at - 1], end));
}

const cuts = fc.array(fc.nat(), { maxLength: 8 });

describe("lines of the protocol", () => {
  test("come out whole however they were cut", () => {
    const line = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\n", " "));
    fc.assert(
      fc.property(fc.array(line), cuts, (lines, at) => {
        const reader = createFrameReader(1_000_000);
        const frames = pieces(Buffer.from(lines.map((each) => `${each}\n`).join("")), at).flatMap(
          reader.push,
        );
        expect(frames.map((frame) => frame.kind === "line" && Buffer.from(frame.bytes).toString())).toEqual(
          lines,
        );
      }),
    );
  });

  test("past the limit are answered by their id, and the next one is read", () => {
    fc.assert(
      fc.property(cuts, (at) => {
        const long = `{"params":{"id":1,"text":"\\"id\\":2 ${"x".repeat(200)}"},"id":"mine"}\n`;
        const reader = createFrameReader(100);
        const frames = pieces(Buffer.from(`${long}{"next":1}\n`), at).flatMap(reader.push);
        expect(frames[0]).toEqual({ kind: "too-long", id: "mine" });
        expect(frames[1]?.kind).toBe("line");
        expect(frames.length).toBe(2);
      }),
    );
  });
});

describe("the id of a message", () => {
  test("is what a parser would find at its top level", () => {
    const id = fc.oneof(fc.string({ maxLength: 20 }), fc.integer());
    fc.assert(
      fc.property(id, fc.jsonValue(), fc.jsonValue(), fc.boolean(), cuts, (mine, one, two, last, at) => {
        const message = last ? { one, two, id: mine } : { id: mine, one, two };
        const scanner = createRequestIdScanner();
        for (const piece of pieces(Buffer.from(JSON.stringify(message, null, 1)), at)) scanner.push(piece);
        expect(scanner.id()).toBe(mine);
      }),
    );
  });

  test("is null in a message without one, for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
        const scanner = createRequestIdScanner();
        scanner.push(bytes);
        expect([null, "string", "number"]).toContain(scanner.id() === null ? null : typeof scanner.id());
      }),
    );
    const scanner = createRequestIdScanner();
    scanner.push(Buffer.from('{"method":"x","params":{"id":3},"id":null}'));
    expect(scanner.id()).toBeNull();
  });
});

test("only the folders of the MCP server and client import the protocol's library, and nothing loads them early", () => {
  const source = join(import.meta.dir, "../../../src");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".ts"),
  );
  const text = (path: string) => readFileSync(join(source, path), "utf8");
  const importers = files.filter((path) => text(path).includes('"@modelcontextprotocol/sdk'));
  expect(
    importers.filter((path) => !/^(?:adapters\/mcp\/|infrastructure\/chat\/mcp-(?:tools|login))/.test(path)),
  ).toEqual([]);
  const early =
    /^import (?!type ).*(?:adapters\/mcp\/(?!host|manage-servers)|infrastructure\/chat\/mcp-tools)/m;
  const statically = files.filter((path) => early.test(text(path)));
  expect(statically).toEqual([]);
});
