import { containerName } from "../../domain/containers/container-info.ts";
import { EnvironmentError } from "../../application/containers/environment-error.ts";
import type { CliCommand } from "./command.ts";
import { ENV } from "./env-help.ts";
import { taskFlag } from "./env-task.ts";
import { openEnvironments } from "./environments.ts";
import { fail } from "./fail.ts";
import { readFlags } from "./flags.ts";
import { EXIT } from "./program.ts";

/** `env cleanup --task UUID`: removes a task's container, volumes and network. */
export const envCleanup: CliCommand = async (program, args) => {
  const { values } = await readFlags(program, { ...ENV, flags: { task: "string" }, words: 0 }, args);
  const json = values.json === true;
  const uuid = taskFlag(program, values);
  const environments = await openEnvironments(program, values);
  const { texts } = environments;
  try {
    const { removed, leftovers } = await environments.manager.cleanup(uuid);
    if (json)
      program.out(
        `${JSON.stringify({ success: leftovers.length === 0, task_uuid: uuid, removed, leftovers })}\n`,
      );
    else {
      const name = containerName(uuid);
      program.out(`${removed ? texts.removed(name) : texts.nothingToRemove(name)}\n`);
      for (const { kind, name: left, reason } of leftovers)
        program.err(`${texts.leftOver(kind, left, reason)}\n`);
    }
    return leftovers.length === 0 ? EXIT.done : EXIT.failed;
  } finally {
    await environments.close();
  }
};

/** `env prune`: removes what dead processes and old tasks left. */
export const envPrune: CliCommand = async (program, args) => {
  const { values } = await readFlags(program, { ...ENV, flags: {}, words: 0 }, args);
  const json = values.json === true;
  const environments = await openEnvironments(program, values);
  const { texts } = environments;
  try {
    const removed = await environments.manager.cleanupStaleContainers();
    program.out(json ? `${JSON.stringify({ success: true, removed })}\n` : `${texts.pruned(removed)}\n`);
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    const text = texts.failure("engine", "prune", error.message);
    return fail(program, json, { exitCode: EXIT.refused, code: "engine", text });
  } finally {
    await environments.close();
  }
};
