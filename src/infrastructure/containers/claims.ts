import type { ContainerClaim } from "../../application/ports/containers.ts";
import { LABEL } from "./labels.ts";
import type { Lease } from "./leases.ts";

export const claimText = ({ id, fence }: ContainerClaim): string => `${id}:${fence}`;

/** The claim that a container was made for; one that was warm has it in its lease alone. */
export function readClaim(
  labels: Readonly<Record<string, string>>,
  lease: Pick<Lease, "claim"> | undefined,
): ContainerClaim | null {
  const [, id, fence] = /^(.+):(\d+)$/.exec(lease?.claim ?? labels[LABEL.claim] ?? "") ?? [];
  return id === undefined ? null : { id, fence: Number(fence) };
}

/** Whether a container is another's: whoever says nothing of a claim means whatever has the name. */
export function isOfAnother(made: ContainerClaim | null, asked: ContainerClaim | undefined): boolean {
  return made !== null && asked !== undefined && claimText(made) !== claimText(asked);
}

/** Whether it was made for a claim that came after this one. */
export function isOfSuccessor(made: ContainerClaim | null, asked: ContainerClaim | undefined): boolean {
  return made !== null && made.id === asked?.id && made.fence > asked.fence;
}
