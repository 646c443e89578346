import type { ContainerLimits, SandboxManager } from "../../application/ports/containers.ts";
import { removeLayers } from "./stage-run.ts";

export interface SweepLayersDeps {
  readonly taskId: string;
  readonly limits: ContainerLimits;
  readonly sandbox: SandboxManager;
}

const SWEPT_FOLDER = "/var/tmp/layers";

/** What the engine left as root goes as root, in a container that sees nothing else. */
export async function sweepLayers(
  { taskId, limits, sandbox }: SweepLayersDeps,
  folder: string,
  image: string,
): Promise<void> {
  if (removeLayers(folder)) return;
  const sweeper = await sandbox.startContainer({
    name: `agent-runner-${taskId}-sweeper`,
    taskId,
    image,
    user: { uid: 0, gid: 0 },
    workingDirectory: "/",
    roots: ["/"],
    limits,
    network: { mode: "none" },
    mounts: [{ kind: "bind", source: folder, target: SWEPT_FOLDER, readOnly: false }],
  });
  if (!sweeper.ok) return;
  const command = `for work in ${SWEPT_FOLDER}/w*; do chmod 700 "$work"/* && rm -rf "$work"/*; done`;
  await sandbox.exec(sweeper.id, { command, cwd: "/", timeoutMs: 30_000, outputLimitBytes: 4096 });
  await sandbox.stopContainer(sweeper.id, { force: true });
  removeLayers(folder);
}
