import { helpMessagesFor } from "../../domain/texts/cli.ts";
import { resolveLocale } from "../../domain/texts/locale.ts";
import type { CommandLine, Subcommand } from "./command.ts";
import { GROUPS } from "./help.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `man`: the manual page, for `man -l -` and for packages. Made of the same texts as the help. */
export const commandWith = (all: () => Promise<readonly CommandLine[]>): Subcommand => ({
  name: "man",
  usage: "man",
  async run(program, { json }) {
    const page = manPage(program, await all());
    program.out(json ? `${JSON.stringify({ page })}\n` : page);
    return EXIT.done;
  },
});

function manPage({ env, version }: CliProgram, all: readonly CommandLine[]): string {
  const { commands, common, groups, exitCodes, man } = helpMessagesFor(resolveLocale({ env }));
  const known = new Set<string>(GROUPS.flatMap(([, names]) => names));
  const sections = [
    ...GROUPS.map(([title, names]) => ({
      title,
      members: names.flatMap((name) => all.filter((one) => one.name === name)),
    })),
    { title: "rest" as const, members: all.filter(({ name }) => !known.has(name)) },
  ];
  const entry = (flag: string, does: string) => [".TP", `.B ${escaped(flag)}`, escaped(does)];
  return `${[
    `.TH PICOCLAW 1 "" "PicoClaw ${version}"`,
    `.SH ${man.name}`,
    `picoclaw \\- ${escaped(man.purpose)}`,
    `.SH ${man.synopsis}`,
    ".B picoclaw",
    escaped(man.usage),
    ...sections.flatMap(({ title, members }) => [
      `.SH ${escaped(groups[title].toUpperCase())}`,
      ...members.flatMap(({ name, usage }) => {
        const { does, ...flags } = commands[name];
        const rows = Object.entries(flags).flatMap(([flag, text]) => entry(flag, text));
        return [`.SS picoclaw ${escaped(usage)}`, escaped(does), ...rows];
      }),
    ]),
    `.SH ${man.common}`,
    ...Object.entries(common).flatMap(([flag, does]) => entry(flag, does)),
    `.SH ${man.exit}`,
    escaped(exitCodes),
    `.SH ${man.files}`,
    escaped(man.filesText),
  ].join("\n")}\n`;
}

/** A backslash and a minus mean something to roff, and so does a point at the beginning of a line. */
function escaped(text: string): string {
  return text
    .replace(/\\/g, "\\e")
    .replace(/-/g, "\\-")
    .replace(/^([.'])/gm, "\\&$1");
}
