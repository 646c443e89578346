import type { CliCommand } from "./command.ts";
import { ENV } from "./env-help.ts";
import { taskFlag } from "./env-task.ts";
import { abortable, openEnvironments } from "./environments.ts";
import { fail } from "./fail.ts";
import { readFlags } from "./flags.ts";
import { EXIT } from "./program.ts";
import { exitCodeOf, readArguments } from "./tool.ts";

/** `env edit --task UUID [--tool NAME] [ARGS|-]`: one call of the text editor, or another tool, on its files. */
export const envEdit: CliCommand = async (program, args) => {
  const { values, words } = await readFlags(
    program,
    { ...ENV, flags: { task: "string", tool: "string" }, words: 1 },
    args,
  );
  const uuid = taskFlag(program, values);
  const read = readArguments(program, words[0]);
  if (!read.ok) return fail(program, true, { exitCode: EXIT.usage, code: "arguments", text: read.text });
  const environments = await openEnvironments(program, values);
  try {
    const info = environments.manager.getContainerInfo(uuid);
    if (info === null || info.status !== "ready")
      return fail(program, true, {
        exitCode: EXIT.refused,
        code: "no-environment",
        text: info === null ? environments.texts.unknownTask(uuid) : environments.texts.notReady(uuid),
      });
    const tool = typeof values.tool === "string" ? values.tool : "text_editor";
    const envelope = await abortable((signal) => environments.callTool(info, tool, read.args, signal));
    program.out(`${JSON.stringify(envelope, null, 2)}\n`);
    return exitCodeOf(envelope);
  } finally {
    await environments.close();
  }
};
