import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { slashCommands } from "../../../src/adapters/cli/converse.ts";
import { createComposer, type SlashCommand } from "../../../src/adapters/cli/terminal-input.ts";
import { createStyle } from "../../../src/adapters/cli/terminal-style.ts";
import { chatMessagesFor } from "../../../src/domain/texts/chat.ts";
import { terminalMessagesFor } from "../../../src/domain/texts/cli-terminal.ts";
import { cases } from "../../require.ts";

const COMMANDS: readonly SlashCommand[] = [
  {
    name: "pr",
    description: "commit the work on a branch, push it, and open a pull request",
    takesWords: false,
  },
  { name: "redo", description: "apply an undone change again", takesWords: false },
  { name: "rewind", description: "go back to a message", takesWords: false },
  { name: "code", description: "a coder writes it", takesWords: true },
  { name: "code1", description: "that coder alone", takesWords: true },
  { name: "undo", description: "undo the last change", takesWords: false },
];

/** The messages that these keys send. */
function press(...keys: string[]): { readonly sent: string[]; readonly line: string } {
  const sent: string[] = [];
  const composer = createComposer({
    texts: terminalMessagesFor("en"),
    style: () => createStyle({ colour: false, ground: "dark" }),
    rows: () => 24,
    redraw: () => {},
    history: [],
    commands: () => COMMANDS,
    listFiles: async () => [],
    submit: (text) => sent.push(text),
  });
  for (const key of keys) composer.key(key);
  return { sent, line: composer.text() };
}

const DOWN = "\x1b[B";

describe("the menu of commands", () => {
  test.each(["en", "ja"] as const)("%s: Enter sends a command whose words may be left out", (locale) => {
    const chat = chatMessagesFor(locale);
    const commands = ["stats", "why", "diff", "undo", "rewind", "cost", "code", "btw", "route", "schedule"];
    const ownCommands = { list: () => [], find: () => null };
    const opened = { chat, commands, ownCommands } as unknown as Parameters<typeof slashCommands>[0];
    const waiting = slashCommands(opened, []).filter(({ takesWords }) => takesWords);
    expect(waiting.map(({ name }) => name).sort()).toEqual(["btw", "code", "route", "schedule"]);
  });

  test.each([
    ["a name that exists only in a description is sent as it was typed", ["/commit", "\r"], ["/commit"]],
    ["so is another one that would publish something", ["/push", "\r"], ["/push"]],
    ["a name is that command, although others begin with it", ["/undo", "\r"], ["/undo"]],
    ["the only completion runs", ["/un", "\r"], ["/undo"]],
    ["of two completions neither runs", ["/re", "\r"], ["/re"]],
    ["an arrow key chooses one", ["/re", DOWN, DOWN, "\r"], ["/rewind"]],
    ["an arrow key chooses a match by description", ["/push", DOWN, "\r"], ["/pr"]],
    ["a slash alone is no command", ["/", "\r"], []],
  ])("%s", (_, keys, sent) => {
    expect(press(...keys).sent).toEqual(sent);
  });

  test("Tab completes the first, and a command that takes words waits for them", () => {
    expect(press("/re", "\t")).toEqual({ sent: [], line: "/redo" });
    expect(press("/code", "\r")).toEqual({ sent: [], line: "/code " });
  });

  test("for any typed text, Enter sends it or the only command that begins with it", () => {
    const word = fc.oneof(
      fc.stringMatching(/^[a-z]{1,6}$/),
      fc.constantFrom(
        ...COMMANDS.flatMap(({ name, description }) => [name, ...(description.match(/[a-z]+/g) ?? [])]),
      ),
    );
    fc.assert(
      fc.property(word, (typed) => {
        const { sent, line } = press(`/${typed}`, "\r");
        const named = COMMANDS.filter(({ name }) => name.startsWith(typed));
        const exact = named.find(({ name }) => name === typed);
        const only = exact ?? (named.length === 1 ? named[0] : undefined);
        const expected = only === undefined ? `/${typed}` : `/${only.name}`;
        expect(only?.takesWords === true ? line.trim() : sent[0]).toBe(expected);
      }),
      { numRuns: cases(200) },
    );
  });
});
