import { quoteWords as shellWords } from "../../domain/containers/environments-clone-plan.ts";
import type { CliCommand } from "./command.ts";
import { ENV } from "./env-help.ts";
import { environmentTexts, taskFlag, usageStop } from "./env-task.ts";
import { abortable, openEnvironments } from "./environments.ts";
import { fail } from "./fail.ts";
import { readFlags } from "./flags.ts";
import { EXIT } from "./program.ts";

const LONGEST_SECONDS = 7 * 24 * 3600;
const TAIL_CHARS = 4096;

/** `env exec --task UUID [--timeout S] [--cwd DIR] -- COMMAND`: one word is a shell's line, several are its words. */
export const envExec: CliCommand = async (program, args) => {
  const flags = { task: "string", timeout: "string", cwd: "string", session: "string" } as const;
  const { values, words } = await readFlags(
    program,
    { ...ENV, flags, words: Number.POSITIVE_INFINITY },
    args,
  );
  const json = values.json === true;
  const uuid = taskFlag(program, values);
  const timeoutSeconds = values.timeout === undefined ? undefined : Number(values.timeout);
  if (timeoutSeconds !== undefined && !(timeoutSeconds > 0 && timeoutSeconds <= LONGEST_SECONDS))
    throw usageStop(program, values, environmentTexts(program).badTimeout(String(values.timeout)));
  const [first, ...rest] = words;
  if (first === undefined || (first.trim() === "" && rest.length === 0))
    throw usageStop(program, values, environmentTexts(program).noCommand);
  const command = rest.length === 0 ? first : shellWords(words);
  const environments = await openEnvironments(program, values);
  const { manager, texts } = environments;
  try {
    const info = manager.getContainerInfo(uuid);
    if (info === null || info.status !== "ready") {
      const text = info === null ? texts.unknownTask(uuid) : texts.notReady(uuid);
      return fail(program, json, { exitCode: EXIT.refused, code: "no-environment", text });
    }
    let errors = "";
    const show = (stream: "stdout" | "stderr", text: string) => {
      if (stream === "stdout") return program.out(text);
      errors = (errors + text).slice(-TAIL_CHARS);
      program.err(text);
    };
    const result = await abortable((signal) =>
      manager.executeIn(info, command, typeof values.cwd === "string" ? values.cwd : null, {
        signal,
        byHand: true,
        ...(!json && { onOutput: show }),
        ...(timeoutSeconds !== undefined && { timeoutSeconds }),
        ...(typeof values.session === "string" && { session: values.session }),
      }),
    );
    if (json) program.out(`${JSON.stringify(result)}\n`);
    else {
      // Why it ended is not the command's own word, and comes last.
      const why = result.stderr.trimEnd().split("\n").at(-1) ?? "";
      if (!errors.trimEnd().endsWith(why)) program.err(`${why}\n`);
    }
    return result.exit_code === 0 ? EXIT.done : EXIT.failed;
  } finally {
    await environments.close();
  }
};
