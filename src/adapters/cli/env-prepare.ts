import { resolve } from "node:path";
import { containerName } from "../../domain/containers/container-info.ts";
import type { OpenEnvironments } from "../../application/containers/open-environments.ts";
import type { PrepareEvent } from "../../domain/containers/prepare-event.ts";
import { parseRepository } from "../../domain/containers/clone-plan.ts";
import type { CliCommand } from "./command.ts";
import { ENV } from "./env-help.ts";
import { requiredFlag, taskFlag, usageStop } from "./env-task.ts";
import { abortable, openEnvironments } from "./environments.ts";
import { fail } from "./fail.ts";
import { readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `env prepare --task UUID [--env NAME] --repo URL|PATH [--branch B] [--target B]` */
export const envPrepare: CliCommand = async (program, args) => {
  const flags = {
    task: "string",
    env: "string",
    repo: "string",
    branch: "string",
    target: "string",
  } as const;
  const { values } = await readFlags(program, { ...ENV, flags, words: 0 }, args);
  const json = values.json === true;
  const uuid = taskFlag(program, values);
  const repository = repositoryFromHere(program, requiredFlag(program, values, "repo"));
  const environments = await openEnvironments(program, values);
  const { manager, texts, messages } = environments;
  const known = Object.keys(manager.getAvailableEnvironments());
  // A wrong name on the command line is a mistake of the person; a model's falls back to the default.
  if (typeof values.env === "string" && !known.includes(values.env))
    throw usageStop(program, values, texts.unknownEnvironment(values.env, known));
  const task = {
    uuid,
    repository,
    ...(typeof values.branch === "string" && { branch: values.branch }),
    ...(typeof values.target === "string" && { targetBranch: values.target }),
  };
  try {
    const prepared = await abortable((signal) =>
      manager.tryPrepare(task, typeof values.env === "string" ? values.env : null, {
        signal,
        lease: "detached",
        onEvent: printPrepareEvents(program, environments, json),
      }),
    );
    if (!prepared.ok) {
      const { code, subject, detail, remedy } = prepared;
      const advice = remedy === undefined ? "" : `\n${texts.remedy(remedy, subject)}`;
      const text = `${texts.failure(code, subject, detail)}${advice}`;
      const exitCode = code === "bad-input" ? EXIT.usage : EXIT.refused;
      return fail(program, json, { exitCode, code, text });
    }
    const { container, image, installed, notices, from } = prepared;
    if (json) {
      program.out(`${JSON.stringify({ success: true, ...container, image, from, installed, notices })}\n`);
      return EXIT.done;
    }
    const name = containerName(uuid);
    program.out(
      `${texts.prepared({ name, environment: container.environment_name, image, path: container.workspace_path })}\n`,
    );
    if (installed.length > 0)
      program.out(
        `${texts.installed({ done: installed.filter(({ success }) => success).length, total: installed.length })}\n`,
      );
    for (const notice of notices) {
      const label = notice.code === "detected" ? " " : messages.warningLabel;
      program.out(`${label} ${texts.notice(notice)}\n`);
    }
    program.out(`${texts.nextSteps(uuid)}\n`);
    return EXIT.done;
  } finally {
    await environments.close();
  }
};

/** A folder is meant from where the user stands. */
function repositoryFromHere(program: CliProgram, given: string): string {
  const parsed = parseRepository(given);
  return parsed.ok && parsed.source.kind === "local" ? resolve(program.cwd, parsed.source.path) : given;
}

function printPrepareEvents(
  program: CliProgram,
  { texts }: OpenEnvironments,
  json: boolean,
): (event: PrepareEvent) => void {
  if (json || !program.errIsTerminal) return () => {};
  return (event) => {
    if (event.type === "step") program.err(`· ${texts.step(event.step, event.subject)}\n`);
    if (event.type === "output") program.err(`    ${event.text.slice(0, 200)}\n`);
  };
}
