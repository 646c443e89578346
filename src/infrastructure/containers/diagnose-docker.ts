import type { DoctorCheck } from "../../application/ports/check.ts";
import type { Opened } from "../../application/ports/opening.ts";
import type { SandboxFailure } from "../../application/ports/containers.ts";
import { dockerMessages } from "../../domain/texts/texts.ts";
import { diagnoseImages } from "./diagnose-images.ts";
import type { Engine } from "./docker-engine.ts";
import { readEngineFacts } from "./engine-facts.ts";

const PATIENCE_MS = 5000;

/** What engine there is for task environments, what it enforces and what not. Missing is a fault only where needed. */
export async function diagnoseDocker(
  engine: Engine | SandboxFailure,
  { messages, config }: Pick<Opened, "messages" | "config">,
): Promise<DoctorCheck[]> {
  const { docker, enabled } = config.command_executor;
  const texts = dockerMessages(messages.locale);
  if ("ok" in engine)
    return [
      {
        name: "docker",
        ok: false,
        optional: !enabled,
        text: texts.badHost(docker.host),
        remedy: texts.remedy("set-host"),
      },
    ];
  const facts = await readEngineFacts(engine, AbortSignal.timeout(PATIENCE_MS));
  if (!facts.ok) {
    const forbidden = facts.code === "engine-forbidden";
    return [
      {
        name: "docker",
        ok: false,
        optional: !enabled,
        text: forbidden
          ? texts.notPermitted(docker.host, enabled)
          : texts.notReachable(facts.detail, enabled),
        remedy: texts.remedy(forbidden ? "join-group" : "start-docker"),
      },
    ];
  }
  const checks: DoctorCheck[] = [
    {
      name: "docker",
      ok: true,
      text: texts.engine({
        version: facts.engineVersion,
        api: facts.apiVersion,
        host: facts.host,
      }),
    },
    {
      name: "docker-kernel",
      ok: true,
      text: texts.kernel({
        cgroup: facts.cgroup,
        driver: facts.storageDriver,
        filesystem: facts.backingFilesystem,
        rootless: facts.rootless,
      }),
    },
    {
      name: "environment-limits",
      ok: facts.missing.length === 0,
      optional: !enabled,
      text: texts.limits(facts.missing),
      remedy: texts.remedy("kernel-limits"),
    },
    { name: "environment-disk", ok: true, text: texts.disk(facts.disk, docker.resources.disk_limit) },
    { name: "environment-network", ok: true, text: networkText(texts, docker.network) },
    {
      name: "environment-hardening",
      ok: facts.seccomp,
      optional: !enabled,
      text: texts.hardening(facts.seccomp),
      remedy: texts.remedy("seccomp"),
    },
  ];
  checks.push(await diagnoseImages(engine, config.command_executor, messages.locale));
  if (docker.mount_docker_socket)
    checks.push({ name: "docker-socket", ok: false, text: texts.socketMounted });
  return checks;
}

function networkText(
  texts: ReturnType<typeof dockerMessages>,
  network: Opened["config"]["command_executor"]["docker"]["network"],
): string {
  const { external_access, whitelist_mode, allowed_domains, allowed_hosts } = network;
  if (!external_access) return texts.network("none", [], []);
  return texts.network(whitelist_mode ? "allow-list" : "open", allowed_domains, allowed_hosts);
}
