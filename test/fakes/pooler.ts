import { createConnection, createServer } from "node:net";
import { join } from "node:path";

/** Relays between a client and a Postgres on a socket, and gives out process numbers of its own, as pgbouncer does. */
export async function startPooler(folder: string, real: string): Promise<{ stop(): void }> {
  const socket = ".s.PGSQL.5432";
  const server = createServer((client) => {
    const upstream = createConnection(join(real, socket));
    let told = false;
    upstream.on("data", (data: Buffer) => {
      if (!told) told = renumber(data);
      client.write(data);
    });
    client.on("data", (data) => upstream.write(data));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("close", () => other.destroy());
      one.on("error", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => void server.listen(join(folder, socket), resolve));
  return { stop: () => void server.close() };
}

/** A message is its letter and its length; `K` holds the process number. */
function renumber(data: Buffer): boolean {
  for (let at = 0; at + 5 <= data.length; at += 1 + data.readInt32BE(at + 1)) {
    if (data[at] !== "K".charCodeAt(0)) continue;
    data.writeInt32BE(7, at + 5);
    return true;
  }
  return false;
}
