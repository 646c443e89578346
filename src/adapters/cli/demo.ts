import type { Subcommand } from "./command.ts";
import { readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

type Dispatch = (command: string, args: readonly string[], program: CliProgram) => Promise<number>;

const PATCH = `[
  {"type":"file_edit","action":"update","target":"hello.txt","content":"こんにちは, PicoClaw\\n"},
  {"type":"shell_command","action":"run","target":"rm notes.txt && date > built.txt"},
  {"type":"file_edit","action":"update","target":".env","content":"TOKEN=stolen\\n"}
]`;

/** A tour in a throw-away folder: dry run, preview, apply, undo, with the real program and its real output. */
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
  const { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } = await import("node:fs");
  const { tmpdir } = await import("node:os");
  const { join } = await import("node:path");
  const place = mkdtempSync(join(tmpdir(), "picoclaw-demo-"));
  const folder = join(place, "workspace");
  mkdirSync(folder);
  writeFileSync(join(folder, "hello.txt"), "hello\n");
  writeFileSync(join(folder, "notes.txt"), "do not lose me\n");
  writeFileSync(join(folder, ".env"), "TOKEN=secret\n");
  const inside: CliProgram = {
    ...program.elsewhere({ cwd: folder, env: { ...program.env, PICOCLAW_HOME: join(place, "home") } }),
    inIsTerminal: false,
    readInput: () => Buffer.from(PATCH),
  };
  const step = async (command: string, ...args: string[]) => {
    program.out(`\n$ picoclaw ${[command, ...args].join(" ")}\n`);
    await run(command, args, inside);
  };
  const files = () => {
    for (const name of readdirSync(folder).sort())
      program.out(`  ${name}: ${JSON.stringify(readFileSync(join(folder, name), "utf8"))}\n`);
  };
  try {
    program.out(`${folder}\n`);
    files();
    program.out(`\npatch.json:\n${PATCH}\n`);
    await step("apply", "--dry-run");
    await step("apply", "--preview");
    files();
    await step("apply");
    files();
    await step("undo");
    files();
    return EXIT.done;
  } finally {
    await program.removeFolder(place);
  }
}
