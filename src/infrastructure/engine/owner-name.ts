import { processBirth, processLife } from "./process-birth.ts";

/** Names that tell, from any process of the same machine, whether the one that made them still runs. */
export interface OwnerNames {
  /** Where process numbers mean the same: one boot and one pid namespace. */
  readonly place: string;
  next(): string;
  /** True only when it is sure: of another machine or container nobody here can tell. */
  isGone(owner: string): boolean;
}

/** `PLACE PID STARTED RUN.COUNT`; earlier versions left out when the process was started. */
export function createOwnerNames(pid: number): OwnerNames {
  const [place = "", started] = processBirth(pid).split(" ");
  const count = { made: 0 };
  const run = Math.random().toString(36).slice(2, 8);
  return {
    place,
    next() {
      count.made += 1;
      return `${place} ${pid} ${started} ${run}.${count.made}`;
    },
    isGone(owner) {
      const [ownerPlace, ownerPid, ...rest] = owner.split(" ");
      const birth = `${ownerPlace} ${rest.length > 1 ? rest[0] : "?"}`;
      return processLife(Number(ownerPid), birth) === "gone";
    },
  };
}
