/** The runtime's own chores, without the calls of the C library that a small job does not load. */

/** Starts a process that nobody waits for, and that goes on when this one ends. */
export function spawnUnattended(
  argv: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
): void {
  const stdio: ["ignore", "ignore", "ignore"] = ["ignore", "ignore", "ignore"];
  Bun.spawn({ cmd: [...argv], cwd: "/", env: { ...env }, stdio }).unref();
}

/** Gives back what nobody refers to any more, before the runtime would by itself. */
export function collectGarbage(): void {
  Bun.gc(true);
}
