import { resolveLocale } from "../../config/environment.ts";
import { setupMessagesFor } from "../../domain/texts/setup.ts";
import type { Subcommand } from "./command.ts";
import { readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

type Dispatch = (command: string, args: readonly string[], program: CliProgram) => Promise<number>;

const RASH_PATCH = "```bash\nrm -rf src\n```\n";

/** A tour in a throw-away project: a failing test is fixed, `rm -rf src` taken back, with the real program. */
export const commandWith = (dispatch: Dispatch): Subcommand => {
  const command: Subcommand = {
    name: "demo",
    usage: "demo",
    flags: {},
    words: 0,
    run: async (program, args) => {
      await readFlags(program, command, args);
      return demo(program, dispatch);
    },
  };
  return command;
};

async function demo(program: CliProgram, run: Dispatch): Promise<number> {
  const place = await program.openDemo();
  const words = setupMessagesFor(resolveLocale({ env: program.env })).demo;
  const inside: CliProgram = {
    ...program.elsewhere({ cwd: place.workspace, env: place.env }),
    inIsTerminal: false,
    readInput: () => Buffer.from(RASH_PATCH),
  };
  const say = (text: string) => program.out(`\n${text}\n`);
  const step = async (command: string, ...args: string[]) => {
    const shown = args.map((arg) => (/\s/.test(arg) ? JSON.stringify(arg) : arg));
    say(`$ picoclaw ${[command, ...shown].join(" ")}`);
    return run(command, args, inside);
  };
  try {
    program.out(`${words.project(place.workspace)}\n`);
    const fixed = await step("chat", words.fix);
    await step("show", "--diff");
    const before = await snapshot(place.workspace);
    say(words.rash(RASH_PATCH.trimEnd()));
    await step("apply");
    const gone = !(await snapshot(place.workspace)).has("src/cart.js");
    await step("undo");
    const after = await snapshot(place.workspace);
    const same = [...before].every(([path, text]) => after.get(path) === text) && after.size === before.size;
    say(gone && same ? words.back(before.size) : words.notBack);
    say(words.connect);
    return fixed === EXIT.done && gone && same ? EXIT.done : EXIT.failed;
  } finally {
    await place.remove();
  }
}

/** Every file of the project with its bytes. */
async function snapshot(folder: string): Promise<Map<string, string>> {
  const { readdirSync, readFileSync } = await import("node:fs");
  const { join } = await import("node:path");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true, encoding: "utf8" }).filter(
    (entry) => entry.isFile(),
  );
  return new Map(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length + 1), readFileSync(path, "base64")];
    }),
  );
}
