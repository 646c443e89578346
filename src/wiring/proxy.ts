/** The network proxy as a program of its own. */
import { endProxyProgram, runProxyProgram } from "../infrastructure/sandbox/proxy-program.ts";

runProxyProgram(process.argv[2] ?? process.env.PICOCLAW_PROXY ?? "").catch((error: Error) =>
  endProxyProgram(error.message),
);
