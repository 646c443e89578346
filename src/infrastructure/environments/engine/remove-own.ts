import type { Removal } from "../../../application/ports/sandbox.ts";
import { inspectContainer } from "./containers.ts";
import { LABEL } from "./labels.ts";
import type { Leases } from "./leases.ts";
import { type RemoveParts, removeContainer } from "./remove-container.ts";

export interface RemoveOwnParts extends RemoveParts {
  readonly installation: string;
  readonly owner: () => string;
  readonly leases: Leases;
  /** Before it goes. */
  readonly onRemoving: (id: string, labels: Readonly<Record<string, string>>) => void;
  readonly warn: (message: string) => void;
}

/** Removes a container of this installation, and no other. What could not be removed is noted for the next clean-up. */
export async function removeOwn(
  parts: RemoveOwnParts,
  container: string,
  { force }: { readonly force: boolean },
): Promise<Removal> {
  const { engine, installation, leases, warn } = parts;
  const inspected = await inspectContainer(engine, container, undefined);
  const labels = (inspected.ok && inspected.value.Config.Labels) || {};
  if (inspected.ok && labels[LABEL.installation] !== installation)
    return {
      removed: false,
      leftovers: [{ kind: "container", name: container, reason: "belongs to somebody else" }],
    };
  const id = inspected.ok ? inspected.value.Id : container;
  parts.onRemoving(id, labels);
  const { removed, leftovers } = await removeContainer(parts, id, { force });
  const known = leases.read(id);
  if (removed) leases.remove(id);
  else if (inspected.ok || known) {
    leases.write({
      container: id,
      name: inspected.ok ? inspected.value.Name.slice(1) : (known?.name ?? container),
      taskId: known?.taskId ?? "",
      lease: known?.lease ?? "process",
      owner: known?.owner ?? parts.owner(),
      state: "ended",
      reason: leftovers.map((each) => `${each.kind} ${each.name}: ${each.reason}`).join("; "),
    });
    warn(`left behind, for the next clean-up: ${leftovers.map(({ name }) => name).join(", ")}`);
  }
  return { removed, leftovers };
}
