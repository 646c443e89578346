import { type AddressInfo, connect, createServer } from "node:net";

/**
 * Carries every connection to a port of this loopback to a socket with a path; 0 is any that is free. Resolves with the
 * port when it listens. It is up for as long as its process.
 */
export function forwardPort(port: number, socketPath: string): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ path: socketPath, allowHalfOpen: true });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.once("close", () => other.destroySoon());
      one.pipe(other);
    }
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
