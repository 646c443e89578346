import type { Socket } from "node:net";

/** Connections by how long nothing has gone through them. */
export interface SilentFirst {
  add(client: Socket): void;
  remove(client: Socket): void;
  /** Ends the one that has been silent longest. */
  endSilent(): void;
  close(): void;
}

const LOOK_MS = 2000;

/**
 * Where many share one proxy, whoever opens connections without using them must not keep the others out: the one that
 * has been silent longest makes room for the next. Bytes are counted by the sockets themselves, so nothing is listened to.
 */
export function createSilentFirst(): SilentFirst {
  const seen = new Map<Socket, { bytes: number; at: number }>();
  const look = () => {
    const now = performance.now();
    for (const [client, known] of seen) {
      const bytes = client.bytesRead + client.bytesWritten;
      if (bytes !== known.bytes) seen.set(client, { bytes, at: now });
    }
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return {
    add: (client) => void seen.set(client, { bytes: 0, at: performance.now() }),
    remove: (client) => void seen.delete(client),
    endSilent() {
      look();
      let longest: { readonly client: Socket; readonly at: number } | null = null;
      for (const [client, { at }] of seen) if (longest === null || at < longest.at) longest = { client, at };
      longest?.client.destroy();
    },
    close: () => clearInterval(timer),
  };
}
