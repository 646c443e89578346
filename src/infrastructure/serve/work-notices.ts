import { Client } from "pg";

const AGAIN_MS = 1_000;

/**
 * Listens on a connection of its own, and connects again when that breaks. What is missed in between the queue's poll
 * finds. Returns how to end it.
 */
export function listenForWork(
  connectionString: string,
  channel: string,
  callback: (queue?: string) => void,
): () => void {
  const state: { client: Client | null; timer: ReturnType<typeof setTimeout> | null; closed: boolean } = {
    client: null,
    timer: null,
    closed: false,
  };

  async function connect(): Promise<void> {
    const client = new Client({ connectionString, keepAlive: true, application_name: "picoclaw listener" });
    state.client = client;
    const broken = () => {
      if (state.client !== client) return;
      state.client = null;
      client.end().catch(() => {});
      if (!state.closed) {
        state.timer = setTimeout(() => void connect(), AGAIN_MS);
        state.timer.unref();
      }
    };
    client.on("error", broken);
    client.on("end", broken);
    // An older version names no queue.
    client.on("notification", ({ payload = "" }) => (payload === "" ? callback() : callback(payload)));
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      callback();
    } catch {
      broken();
    }
  }

  void connect();
  return () => {
    state.closed = true;
    if (state.timer !== null) clearTimeout(state.timer);
    state.client?.end().catch(() => {});
  };
}
