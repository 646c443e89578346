/** Starts llama.cpp's own server on a free port of this machine, and ends it. */
import { spawn } from "node:child_process";

/** The program, by its variable or by PATH. */
const PROGRAM = process.env.LLAMA_SERVER || "llama-server";

export interface LlamaServer {
  readonly url: string;
  /** Resolves when no slot is working. */
  idle(): Promise<void>;
  freeze(): void;
  thaw(): void;
  kill(): void;
  stop(): Promise<void>;
}

export async function startLlamaServer(
  model: string,
  {
    slots,
    context,
    key,
    options = [],
  }: {
    readonly slots: number;
    readonly context: number;
    readonly key: string;
    readonly options?: readonly string[];
  },
): Promise<LlamaServer> {
  const child = spawn(
    PROGRAM,
    [
      ...["--model", model, "--alias", "tiny", "--host", "127.0.0.1", "--port", "0", "--api-key", key],
      ...["--ctx-size", `${context}`, "--parallel", `${slots}`, "--threads", "1", "--no-webui", "--offline"],
      // The server ends an answer whose reader left only between two batches.
      ...["--batch-size", "128", "--ubatch-size", "128"],
      ...options,
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const said: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    const look = (chunk: Buffer) => {
      if (said.length > 1_000) return;
      said.push(chunk.toString());
      const found = /listening on (http:\/\/[\d.:]+)/.exec(said.join(""))?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    child.once("error", reject);
    void gone.then(() => reject(new Error(`the server ended:\n${said.join("").slice(-2_000)}`)));
  });
  const kill = () => void child.kill("SIGKILL");
  return {
    url,
    idle: async () => {
      for (;;) {
        const response = await fetch(`${url}/slots`, { headers: { authorization: `Bearer ${key}` } });
        const all = (await response.json()) as { readonly is_processing: boolean }[];
        if (!all.some(({ is_processing }) => is_processing)) return;
        await Bun.sleep(20);
      }
    },
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    kill,
    stop: async () => {
      kill();
      await gone;
    },
  };
}
