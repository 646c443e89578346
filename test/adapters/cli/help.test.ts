import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { flagTypes, type Subcommand } from "../../../src/adapters/cli/command.ts";
import { helpMessagesFor } from "../../../src/domain/texts/cli.ts";
import { LOCALES } from "../../../src/domain/texts/locale.ts";

const FOLDER = join(import.meta.dir, "../../../src/adapters/cli");
/** Only `npm start` uses it. */
const UNTOLD = ["serve --demo-unless-configured"];

const commands: Subcommand[] = [];
for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(".ts"))) {
  const exported = Object.entries((await import(join(FOLDER, file))) as Record<string, unknown>);
  for (const [name, one] of exported)
    if (/command$/i.test(name) && typeof one === "object") commands.push(one as Subcommand);
}

test("the help of a command names every flag that it takes, with a value where it takes one", () => {
  expect(commands.length).toBeGreaterThan(35);
  for (const locale of LOCALES)
    for (const { name, flags = "" } of commands) {
      const { does: _, ...texts } = helpMessagesFor(locale).commands[name];
      const told = Object.keys(texts);
      for (const [flag, type] of Object.entries(flagTypes(flags))) {
        if (UNTOLD.includes(`${name} --${flag}`)) continue;
        const named = told.find((text) => text.split(" ")[0] === `--${flag}`);
        expect([name, flag, named?.includes(" ")]).toEqual([name, flag, type !== "boolean"]);
      }
    }
});
