import type { RunningServer } from "../../application/serve/server.ts";
import type { ServeMessages } from "../../domain/texts/texts.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** The first signal stops gently, the second at once; a hang-up reads the configuration again. */
export async function untilStopped(
  program: CliProgram,
  words: () => ServeMessages,
  serving: Pick<RunningServer, "reload" | "stop">,
): Promise<void> {
  const say = (text: string) => program.err(`${text}\n`);
  const reload = () => {
    void serving
      .reload()
      .then((problem) => say(problem === null ? words().reloaded : words().reloadRefused(problem)))
      .catch((error: unknown) => say(words().reloadRefused(String(error))));
  };
  process.on("SIGHUP", reload);
  const signalled = Promise.withResolvers<void>();
  const again = Promise.withResolvers<"again">();
  const count = { signals: 0 };
  const end = () => {
    count.signals += 1;
    if (count.signals === 1) signalled.resolve();
    else again.resolve("again");
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, end);
  await signalled.promise;
  say(words().stopping);
  const ended = await Promise.race([serving.stop().then(() => "stopped" as const), again.promise]);
  process.off("SIGHUP", reload);
  for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, end);
  if (ended === "again") {
    say(words().stoppingHard);
    process.exit(EXIT.failed);
  }
}
