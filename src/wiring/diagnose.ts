import { diagnoseJobs } from "../application/jobs/dead-jobs.ts";
import { findModelTroubles } from "../application/models/diagnose-models.ts";
import type { DoctorCheck, OpenedWorkspace, OpenOptions } from "../application/ports/jobs-workspace.ts";
import { createSecrets } from "../config/config.ts";
import { resolveHome } from "../config/environment.ts";
import type { Locale } from "../domain/texts/locale.ts";
import { diagnoseAside } from "../infrastructure/engine/kept-aside.ts";
import {
  diagnosePrograms,
  diagnoseSpace,
  diagnoseWorkspace,
} from "../infrastructure/sandbox/diagnose-machine.ts";
import { findGoneStore } from "../infrastructure/serve/live-address.ts";
import { type Environment, openServices } from "./services.ts";

/** `doctor`: every column says what it finds on this machine. */
export async function diagnose(
  env: Environment,
  opened: OpenedWorkspace,
  options: { repair: boolean },
): Promise<DoctorCheck[]> {
  const { messages, workspace } = opened;
  const { diagnoseHome, diagnoseSandbox } = await import("../infrastructure/sandbox/diagnose-sandbox.ts");
  // First: a job that is begun finishes what an earlier one was cut off in.
  const jobs = await diagnoseJobs(opened, options);
  return [
    { name: "runtime", ok: true, text: `Bun ${process.versions.bun ?? "?"}` },
    ...diagnosePrograms(env, messages),
    diagnoseWorkspace(workspace.root, messages),
    ...diagnoseSpace([workspace.root, workspace.storage, resolveHome(env)], messages),
    ...(await diagnoseSandbox(env, opened)),
    ...diagnoseHome(opened, options),
    ...(await docker(env, opened)),
    ...(await modelsAndMemory(env, opened)),
    ...jobs,
    ...diagnoseAside(opened),
  ];
}

async function docker(env: Environment, opened: OpenedWorkspace): Promise<DoctorCheck[]> {
  const { openEngine } = await import("../infrastructure/containers/docker-engine.ts");
  const { diagnoseDocker } = await import("../infrastructure/containers/diagnose-docker.ts");
  return diagnoseDocker(openEngine(opened.config.command_executor.docker, env), opened);
}

async function modelsAndMemory(env: Environment, opened: OpenedWorkspace): Promise<DoctorCheck[]> {
  const { openModels } = await import("./models.ts");
  const { describeRecords, diagnoseModels } = await import("../application/models/diagnose-models.ts");
  const { readModelRecords } = await import("../infrastructure/models/model-records.ts");
  const { diagnoseMemory } = await import("../infrastructure/chat/diagnose-memory.ts");
  const { config, messages, workspace } = opened;
  const [home, secrets] = [resolveHome(env), createSecrets(env, config)];
  const models = openModels(config, secrets, { locale: messages.locale, env, home, mask: workspace.mask });
  const databaseUrl = secrets.resolve(config.database_url);
  const gone = databaseUrl === undefined ? findGoneStore(home) : null;
  return [
    ...(await diagnoseModels(models, opened)),
    ...describeRecords(readModelRecords(home), opened),
    ...(gone === null
      ? await diagnoseMemory({ home, databaseUrl }, opened)
      : [await storeGone(gone, messages.locale)]),
  ];
}

async function storeGone(file: string, locale: Locale): Promise<DoctorCheck> {
  const { serveMessagesFor } = await import("../domain/texts/serve.ts");
  const [text = "", remedy = ""] = serveMessagesFor(locale).storeGone(file).split("\n");
  return { name: "store", ok: false, text, remedy };
}

/** Why roles that every user meets cannot answer as configured; no server is contacted. */
export async function modelTroubles(env: Environment, options: OpenOptions) {
  const services = await openServices(env, options);
  if (!services.ok) return [];
  return findModelTroubles(await services.models(), services.config.roles.default_coder);
}
