import type { SandboxFailure } from "../../application/ports/containers.ts";
import type { DoctorCheck, OpenedWorkspace } from "../../application/ports/jobs-workspace.ts";
import { recipeFor, withTag } from "../../domain/containers/environments.ts";
import { dockerMessages, environmentMessages } from "../../domain/texts/containers.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { type Engine, readEngineFacts } from "./docker-engine.ts";
import { createDockerImages } from "./docker-images.ts";

/** Which images of environments are there. A missing one is a fault only where environments are switched on. */
async function diagnoseImages(
  engine: Engine,
  { environments, enabled }: OpenedWorkspace["config"]["command_executor"],
  locale: Locale,
): Promise<DoctorCheck> {
  const texts = environmentMessages(locale);
  const images = createDockerImages(engine);
  const named = Object.values(environments).flatMap((image) =>
    typeof image === "string" ? [withTag(image)] : [],
  );
  const looked = await Promise.all(
    named.map(async (name) => ({ name, there: (await images.inspect(name)) !== null })),
  );
  const missing = looked.filter(({ there }) => !there).map(({ name }) => name);
  const there = looked.filter((image) => image.there).map(({ name }) => name);
  const ours = missing.every((name) => recipeFor(name) !== undefined);
  return {
    name: "environment-images",
    ok: missing.length === 0 || !enabled,
    text: texts.images(there, missing),
    ...(ours && { remedy: "picoclaw images build" }),
  };
}

const PATIENCE_MS = 5000;

/** The engine for task environments and what it enforces. A missing one is a fault only where it is needed. */
export async function diagnoseDocker(
  engine: Engine | SandboxFailure,
  { messages, config }: Pick<OpenedWorkspace, "messages" | "config">,
): Promise<DoctorCheck[]> {
  const { docker, enabled } = config.command_executor;
  const texts = dockerMessages(messages.locale);
  const needed = (name: string, ok: boolean, text: string, remedy: Parameters<typeof texts.remedy>[0]) => {
    return { name, ok, optional: !enabled, text, remedy: texts.remedy(remedy) };
  };
  if ("ok" in engine) return [needed("docker", false, texts.badHost(docker.host), "set-host")];
  const facts = await readEngineFacts(engine, AbortSignal.timeout(PATIENCE_MS));
  if (!facts.ok)
    return facts.code === "engine-forbidden"
      ? [needed("docker", false, texts.notPermitted(docker.host, enabled), "join-group")]
      : [needed("docker", false, texts.notReachable(facts.detail, enabled), "start-docker")];
  const { engineVersion: version, apiVersion: api, host, cgroup, rootless } = facts;
  const kernel = { cgroup, driver: facts.storageDriver, filesystem: facts.backingFilesystem, rootless };
  const checks: DoctorCheck[] = [
    { name: "docker", ok: true, text: texts.engine({ version, api, host }) },
    { name: "docker-kernel", ok: true, text: texts.kernel(kernel) },
    needed("environment-limits", facts.missing.length === 0, texts.limits(facts.missing), "kernel-limits"),
    { name: "environment-disk", ok: true, text: texts.disk(facts.disk, docker.resources.disk_limit) },
    { name: "environment-network", ok: true, text: networkText(texts, docker.network) },
    needed("environment-hardening", facts.seccomp, texts.hardening(facts.seccomp), "seccomp"),
  ];
  checks.push(await diagnoseImages(engine, config.command_executor, messages.locale));
  if (docker.mount_docker_socket)
    checks.push({ name: "docker-socket", ok: false, text: texts.socketMounted });
  return checks;
}

function networkText(
  texts: ReturnType<typeof dockerMessages>,
  network: OpenedWorkspace["config"]["command_executor"]["docker"]["network"],
): string {
  const { external_access, whitelist_mode, allowed_domains, allowed_hosts } = network;
  if (!external_access) return texts.network("none", [], []);
  return texts.network(whitelist_mode ? "allow-list" : "open", allowed_domains, allowed_hosts);
}
