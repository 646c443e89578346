import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  readExplicitRoute,
  readShellLine,
  readSlashCommand,
} from "../../../src/domain/chat/message-commands.ts";
import { isCoder, ROUTES, readRoute } from "../../../src/domain/config/configured-kinds.ts";
import { runs } from "../../require.ts";

describe("an explicit command", () => {
  test.each([
    ["/code3 直して", "CODE3", "直して"],
    ["  /code3 直して", "CODE3", "直して"],
    ["/code3\n直して", "CODE3", "直して"],
    ["/code3　直して", "CODE3", "直して"],
    ["／code3 直して", "CODE3", "直して"],
    ["／ＣＯＤＥ３　直して", "CODE3", "直して"],
    ["/CODE fix", "CODE", "fix"],
    ["/chat", "CHAT", ""],
    ["/plan \n\n a\nb ", "PLAN", "a\nb"],
    ["\ufeff/ops deploy", "OPS", "deploy"],
  ] as const)("%p is %p with %p", (message, route, rest) => {
    expect(readExplicitRoute(message)).toEqual({ route, rest });
  });

  test.each([
    "/code30 x",
    "/coder x",
    "/code3x",
    "/code3、直して",
    "code3 x",
    "直して /code3",
    "//code3 x",
    "/ code3",
    "/",
    "",
    "/code3/x",
    "/undo",
    "/tmp/code を直して",
    "/code.ts を直して",
  ])("%p is not one", (message) => {
    expect(readExplicitRoute(message)).toBeUndefined();
  });

  test("is the first token and nothing else, regardless of the text around it", () => {
    const space = fc.constantFrom(" ", "\n", "\t", "\u3000", "  ");
    const word = fc.string({ minLength: 1, unit: fc.constantFrom(..."abc012345_-あ漢") });
    fc.assert(
      fc.property(fc.constantFrom(...ROUTES), space, fc.string(), (route, gap, rest) => {
        expect(readExplicitRoute(`/${route.toLowerCase()}${gap}${rest}`)).toEqual({
          route,
          rest: rest.trim(),
        });
      }),
      { numRuns: runs(200) },
    );
    fc.assert(
      fc.property(fc.constantFrom(...ROUTES), word, (route, tail) => {
        const longer = readRoute(`${route}${tail}`);
        expect(readExplicitRoute(`/${route}${tail} x`)?.route).toBe(longer as never);
      }),
      { numRuns: runs(200) },
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        const read = readSlashCommand(text);
        if (read !== undefined)
          expect(
            text
              .trimStart()
              .normalize("NFKC")
              .replace(/^[\ufeff\u200b\s]+/u, "")[0],
          ).toBe("/");
      }),
      { numRuns: runs(300) },
    );
  });

  test("routes: four are the coders'", () => {
    expect(ROUTES.filter(isCoder)).toEqual(["CODE", "CODE1", "CODE2", "CODE3"]);
  });
});

test.each([
  ["picoclaw undo", { name: "undo", rest: "" }],
  ["$ picoclaw undo 3 --force", { name: "undo", rest: "3 --force" }],
  ["  picoclaw   jobs  ", { name: "jobs", rest: "" }],
  ["picoclaw", undefined],
  ["Picoclaw should greet", undefined],
  ["why does picoclaw undo fail?", undefined],
  ["picoclaw undo\npicoclaw jobs", undefined],
])("a line for the shell is read as its command: %j", (line, command) => {
  expect(readShellLine(line)).toEqual(command as never);
});
