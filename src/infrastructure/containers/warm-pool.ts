import type { ContainerSpec, SandboxFailure, StartedContainer } from "../../application/ports/containers.ts";
import { toContainerSettings } from "./labels.ts";

/**
 * Started containers that nobody has used, ready to be claimed once. The key is everything that cannot change later:
 * image, limits, user, network, environment, labels. A used one never comes back.
 */
export interface WarmPool {
  /** One that fits, no longer the pool's; or none. Either way the pool fills up again in the background. */
  claim(spec: ContainerSpec, imageId: string): StartedContainer | undefined;
  /** All that is left, no longer the pool's. */
  drain(): Promise<readonly StartedContainer[]>;
}

export interface WarmPoolDeps {
  readonly size: number;
  /** Before it fills up: a process that ends at once need not have begun. */
  readonly delayMs: number;
  readonly newName: () => string;
  readonly make: (spec: ContainerSpec, imageId: string) => Promise<StartedContainer | SandboxFailure>;
  readonly onFailure: (failure: SandboxFailure) => void;
}

/** Whether a spec can be served by a container that was made before it was known. */
function canBeWarm(spec: ContainerSpec): boolean {
  return (spec.mounts ?? []).length === 0 && !spec.mountDockerSocket;
}

export function createWarmPool({ size, delayMs, newName, make, onFailure }: WarmPoolDeps): WarmPool {
  const shelves = new Map<string, StartedContainer[]>();
  const making = new Map<string, Promise<void>>();
  const waiting = new Map<string, ReturnType<typeof setTimeout>>();
  const state = { closed: false };

  const fill = async (key: string, spec: ContainerSpec, imageId: string) => {
    const shelf = shelves.get(key) ?? [];
    shelves.set(key, shelf);
    while (!state.closed && shelf.length < size) {
      const made = await make({ ...spec, name: newName(), taskId: "" }, imageId);
      if (!made.ok) return onFailure(made);
      shelf.push(made);
    }
  };
  const refill = (key: string, spec: ContainerSpec, imageId: string) => {
    if (state.closed || making.has(key) || waiting.has(key)) return;
    const timer = setTimeout(() => {
      waiting.delete(key);
      making.set(
        key,
        fill(key, spec, imageId).finally(() => making.delete(key)),
      );
    }, delayMs);
    timer.unref();
    waiting.set(key, timer);
  };
  return {
    claim(spec, imageId) {
      if (size === 0 || !canBeWarm(spec)) return undefined;
      const key = warmPoolKey(spec, imageId);
      const claimed = shelves.get(key)?.shift();
      refill(key, spec, imageId);
      return claimed;
    },
    async drain() {
      state.closed = true;
      for (const timer of waiting.values()) clearTimeout(timer);
      await Promise.all(making.values());
      const left = [...shelves.values()].flat();
      shelves.clear();
      return left;
    },
  };
}

function warmPoolKey(spec: ContainerSpec, imageId: string): string {
  const sorted = (given: Readonly<Record<string, string>> = {}) => Object.entries(given).sort();
  return JSON.stringify([
    imageId,
    toContainerSettings(spec),
    spec.network,
    sorted(spec.env),
    sorted(spec.labels),
  ]);
}
