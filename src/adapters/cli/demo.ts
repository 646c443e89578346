import { terminalMessagesFor } from "../../domain/texts/cli-terminal.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { setupMessagesFor } from "../../domain/texts/setup.ts";
import type { Subcommand } from "./command.ts";
import { type CliProgram, EXIT } from "./program.ts";
import type { DiffLine } from "./terminal-card.ts";

type Dispatch = (command: string, args: readonly string[], program: CliProgram) => Promise<number>;

const RASH_FOLDERS = [".git", "node_modules", "src"];
const RASH_COMMAND = `rm -rf ${RASH_FOLDERS.join(" ")}`;

/** A tour in a throw-away project, by the real program: a failing test is fixed, and a fatal command is undone. */
export const commandWith = (dispatch: Dispatch): Subcommand => ({
  name: "demo",
  usage: "demo",
  run: (program) => demo(program, dispatch),
});

async function demo(program: CliProgram, run: Dispatch): Promise<number> {
  const place = await program.openDemo();
  const { locale } = program;
  const words = setupMessagesFor(locale).demo;
  const inside: CliProgram = {
    ...program.elsewhere({ cwd: place.workspace, env: place.env }),
    inIsTerminal: false,
    readInput: () => Buffer.from(`\`\`\`bash\n${RASH_COMMAND}\n\`\`\`\n`),
  };
  const say = (text: string) => program.out(`\n${text}\n`);
  const show = await conversationPrinter(program, locale);
  /** Runs one command of the program; its document is shown as a card, and as it is where it failed. */
  const step = async (command: string, ...args: string[]) => {
    let printed = "";
    const out = (text: string) => {
      printed += text;
    };
    const code = await run(command, [...args, "--json"], { ...inside, out });
    if (code !== EXIT.done) program.out(printed);
    return { code, printed };
  };
  try {
    program.out(`${words.project(place.workspace)}\n`);
    say("$ picoclaw chat");
    show.typed(words.fix);
    const atFirst = await snapshot(place.workspace);
    const fixed = await step("chat", words.fix);
    if (fixed.code !== EXIT.done) return fixed.code;
    const before = await snapshot(place.workspace);
    const { diffLines } = await import("./terminal-card.ts");
    const changed = [...before]
      .filter(([path, bytes]) => !atFirst.get(path)?.equals(bytes))
      .map(([path, after]) => ({ path, before: atFirst.get(path) ?? null, after }));
    const verdict = (JSON.parse(fixed.printed) as { text: string }).text.split("\n", 1)[0] ?? "";
    show.card(words.fix, diffLines(changed, terminalMessagesFor(locale)), `✓ ${verdict}`);

    say(words.rash);
    show.typed(`!${RASH_COMMAND}`);
    const rash = await step("apply");
    const left = await snapshot(place.workspace);
    const lost = RASH_FOLDERS.flatMap((folder): DiffLine[] => {
      const files = [...before.keys()].filter((path) => path.startsWith(`${folder}/`) && !left.has(path));
      if (files.length === 0) return [];
      return [{ kind: "note", text: terminalMessagesFor(locale).folder(folder, files.length, "deleted") }];
    });
    show.card(RASH_COMMAND, lost, `✓ ${words.lost(before.size - left.size)}`);

    show.typed("/undo");
    const undone = await step("undo");
    const after = await snapshot(place.workspace);
    const isSame =
      after.size === before.size && [...before].every(([path, bytes]) => after.get(path)?.equals(bytes));
    const isBack = rash.code === EXIT.done && undone.code === EXIT.done && lost.length > 0 && isSame;
    show.card(RASH_COMMAND, [], isBack ? `↶ ${words.back(before.size - left.size)}` : `✗ ${words.notBack}`);
    say(words.connect);
    return isBack ? EXIT.done : EXIT.failed;
  } finally {
    await place.remove();
  }
}

/** Messages and cards as the conversation at a terminal draws them. */
async function conversationPrinter(program: CliProgram, locale: Locale) {
  const { cardBlock } = await import("./terminal-card.ts");
  const { messageBlock } = await import("./conversation-screen.ts");
  const { stripVTControlCharacters } = await import("node:util");
  const { styleFor } = await import("./terminal-style.ts");
  const style = styleFor(program);
  const texts = terminalMessagesFor(locale);
  const print = (drawn: readonly string[]) => {
    // Weight is drawn even where colour is not: a file or a pipe gets letters alone.
    const rows = program.outIsTerminal ? drawn : drawn.map((row) => stripVTControlCharacters(row).trimEnd());
    program.out(`${rows.join("\n")}\n`);
  };
  return {
    typed: (text: string) => print(messageBlock(text, () => style).render(program.columns())),
    card(title: string, lines: readonly DiffLine[], verdict: string) {
      const block = cardBlock({ title, label: "", lines, remarks: [] }, texts, () => style);
      print([...block.render(program.columns()), `  ${style.bold(verdict)}`]);
    },
  };
}

/** Every file of the project, git's own included, with its bytes. */
async function snapshot(folder: string): Promise<Map<string, Buffer>> {
  const { readdirSync, readFileSync } = await import("node:fs");
  const { join } = await import("node:path");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true, encoding: "utf8" }).filter(
    (entry) => entry.isFile(),
  );
  return new Map(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length + 1), readFileSync(path)];
    }),
  );
}
