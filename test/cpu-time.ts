/** Milliseconds of processor time of this process: other work of the machine does not count, as it does by the clock. */
export function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
