import { closeSync, openSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { basename, dirname } from "node:path";

export function listenAt(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function joinSockets(client: Socket, upstream: Socket): void {
  endTogether(client, upstream);
  client.pipe(upstream);
  upstream.pipe(client);
}

/** The end of one is the end of the other. */
export function endTogether(client: Socket, upstream: Socket): void {
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    one.on("error", () => other.destroy());
    one.once("close", () => other.destroySoon());
  }
}

const LONGEST_HEAD = 16;

/**
 * Lets a program outside reach ports of this loopback, from inside a separate network. The inside connects and waits, the outside
 * replies with a port: nothing outside connects to a path that the inside could have replaced.
 */
export function waitForCallers(socketPath: string): void {
  const caller = connect({ path: socketPath, allowHalfOpen: true });
  const held: Buffer[] = [];
  caller.on("error", () => {});
  caller.on("data", function read(bytes: Buffer) {
    held.push(bytes);
    const all = Buffer.concat(held);
    const end = all.indexOf(10);
    if (end < 0 && all.length < LONGEST_HEAD) return;
    caller.off("data", read);
    caller.pause();
    waitForCallers(socketPath);
    const port = Number(all.subarray(0, end).toString());
    if (!(port > 0 && port < 65_536)) return void caller.destroy();
    const service = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
    if (all.length > end + 1) caller.unshift(all.subarray(end + 1));
    joinSockets(caller, service);
  });
}

export type OpenedPorts = Awaited<ReturnType<typeof openInsidePorts>>;

/** The outside of `waitForCallers`. */
export async function openInsidePorts(socket: string) {
  const waiting: Socket[] = [];
  const clients: { readonly port: number; readonly client: Socket }[] = [];
  const serve = () => {
    for (;;) {
      const [next] = clients;
      const caller = next === undefined ? undefined : waiting.shift();
      if (next === undefined || caller === undefined) return;
      clients.shift();
      caller.write(`${next.port}\n`);
      joinSockets(next.client, caller);
    }
  };
  const calls = createServer({ allowHalfOpen: true }, (caller) => {
    caller.on("error", () => {});
    caller.once(
      "close",
      () => void waiting.splice(0, waiting.length, ...waiting.filter((one) => one !== caller)),
    );
    waiting.push(caller);
    serve();
  });
  // The name of a socket has room for 107 bytes: its folder is named by its descriptor.
  const folder = openSync(dirname(socket), "r");
  await new Promise<void>((resolve, reject) => {
    calls.once("error", reject);
    calls.listen(`/proc/self/fd/${folder}/${basename(socket)}`, resolve);
  });
  const opened = new Map<number, { readonly server: Server; readonly outside: number }>();
  const open = async (port: number) => {
    const take = (client: Socket) => {
      client.on("error", () => {});
      clients.push({ port, client });
      serve();
    };
    const make = () => createServer({ allowHalfOpen: true }, take);
    const wanted = make();
    const same = await listenAt(wanted, port).catch(() => null);
    if (same !== null) return { server: wanted, outside: same };
    const other = make();
    return { server: other, outside: await listenAt(other, 0) };
  };
  return {
    /** The socket to which the inside connects; it exists until `close`. */
    socket,
    /** Opens these ports of the inside and closes all others. The numbers outside: the same ones where they are free. */
    async follow(inside: readonly number[]): Promise<readonly number[]> {
      for (const [port, { server }] of opened)
        if (!inside.includes(port)) {
          server.close();
          opened.delete(port);
        }
      for (const port of inside) if (!opened.has(port)) opened.set(port, await open(port));
      return [...opened.values()].map(({ outside }) => outside).sort((a, b) => a - b);
    },
    close(): void {
      for (const { server } of opened.values()) server.close();
      for (const one of [...waiting, ...clients.map(({ client }) => client)]) one.destroy();
      calls.close();
      closeSync(folder);
      rmSync(socket, { force: true });
    },
  };
}
