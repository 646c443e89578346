/** A proxy with a resolver of its own before real servers on this machine. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { type ProxyDeps, type Refusal, startProxy } from "../../../src/infrastructure/sandbox/proxy.ts";

export interface Host {
  readonly port: number;
  /** All it was sent, connection by connection. */
  readonly heard: string[];
  readonly stop: () => void;
}

/** Answers every connection with `reply` as soon as `isWhole` says so of what it heard. */
export async function startHost(
  reply: string | ((heard: string, socket: Socket) => void),
  isWhole = (heard: string) => heard.includes("\r\n\r\n"),
): Promise<Host> {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    const index = heard.push("") - 1;
    let answered = false;
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes) => {
      heard[index] += bytes.toString("latin1");
      if (answered || !isWhole(heard[index] as string)) return;
      answered = true;
      if (typeof reply === "string") socket.end(reply);
      else reply(heard[index] as string, socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    heard,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

export const GREETING = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello";

/** `names`: what the resolver answers. `dialled`: the addresses that were really dialled, all led to `to`. */
export async function startTestProxy(
  options: Partial<ProxyDeps> & {
    readonly allowed?: readonly string[];
    readonly denied?: readonly string[];
    readonly names?: Readonly<Record<string, readonly string[]>>;
    readonly to?: number;
  },
) {
  const refusals: Refusal[] = [];
  const looked: string[] = [];
  const dialled: string[] = [];
  const { allowed = [], denied = [], names = {}, to, ...rest } = options;
  const proxy = await startProxy(
    {
      rules: { allowed, denied },
      onRefused: (refusal) => void refusals.push(refusal),
      resolve: async (host) => {
        looked.push(host);
        return names[host] ?? [];
      },
      connect: (address, port) => {
        dialled.push(`${address} ${port}`);
        return connect({
          host: to === undefined ? address : "127.0.0.1",
          port: to ?? port,
          allowHalfOpen: true,
        });
      },
      ownAddresses: () => ["198.100.1.1"],
      ...rest,
    },
    { host: "127.0.0.1", port: 0 },
  );
  return { ...proxy, refusals, looked, dialled };
}

/** Sends these bytes and returns all that comes back until the other side ends. */
export function ask(port: number, ...pieces: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = "";
    const socket = connect(port, "127.0.0.1", () => {
      for (const piece of pieces) socket.write(Buffer.from(piece, "latin1"));
    });
    socket.on("data", (bytes) => (heard += bytes.toString("latin1")));
    socket.on("end", () => {
      socket.end();
      resolve(heard);
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(heard));
  });
}

export const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
