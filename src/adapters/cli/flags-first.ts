import { resolveLocale } from "../../config/locale.ts";
import { messagesFor } from "../../domain/texts/messages.ts";
import { fail } from "./fail.ts";
import { COMMON } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

type Dispatch = (name: string | undefined, args: readonly string[], program: CliProgram) => Promise<number>;

/** `picoclaw --workspace DIR jobs`: flags that every command takes may stand before its name; others are told where they go. */
export async function flagsFirst(
  program: CliProgram,
  args: readonly string[],
  dispatch: Dispatch,
): Promise<number> {
  const messages = messagesFor(resolveLocale({ env: program.env }));
  const usage = (text: string) =>
    fail(program, args.includes("--json"), { exitCode: EXIT.usage, code: "usage", text });
  let at = 0;
  while (args[at]?.startsWith("-")) {
    const [flag = "", value] = (args[at] as string).split("=", 2);
    const name = flag.slice(2);
    if (!flag.startsWith("--") || !Object.hasOwn(COMMON, name))
      return usage(`${messages.optionsBehind(flag)}\npicoclaw --help`);
    const takesNext = COMMON[name as keyof typeof COMMON] === "string" && value === undefined;
    if (takesNext && args[at + 1] === undefined) return usage(messages.missingValue(flag));
    at += takesNext ? 2 : 1;
  }
  return dispatch(args[at], [...args.slice(0, at), ...args.slice(at + 1)], program);
}
