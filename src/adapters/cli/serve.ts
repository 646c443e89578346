import type { RunningServer } from "../../application/serve/server.ts";
import { type Flags, readPort, refuseUsage, refuseWork, type Subcommand, untilStopped } from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT, type OpenedServe } from "./program.ts";

type OpenServer = Extract<OpenedServe, { ok: true }>;

/** `serve`: the console, the API and the channels, until a signal ends it. `serve link`, `serve token …`: who may in. */
export const command: Subcommand = {
  name: "serve",
  usage: "serve [link|token …]",
  flags: {
    host: "string",
    port: "string",
    demo: "boolean",
    user: "string",
    role: "string",
    scope: "string",
    "demo-unless-configured": "boolean",
  },
  words: 3,
  run: serve,
};

async function serve(program: CliProgram, flags: Flags): Promise<number> {
  const { values, words } = flags;
  const demo =
    values.demo === true ||
    (values["demo-unless-configured"] === true &&
      typeof values.config !== "string" &&
      !program.hasConfigFile());
  if (!demo) return run(program, flags, { demo: false });
  if (words.length > 0) return usage(program, flags);
  const place = await program.openDemo();
  try {
    const inside = program.elsewhere({ cwd: place.workspace, env: place.env });
    return await run(inside, { ...flags, values: { ...values, workspace: place.workspace } }, { demo: true });
  } finally {
    await place.remove();
  }
}

async function run(program: CliProgram, flags: Flags, { demo }: { readonly demo: boolean }): Promise<number> {
  const { values, words } = flags;
  const opened = await openOrStop(program, values, (options) => program.openServe({ ...options, demo }));
  try {
    if (words.length === 0) return await listen(program, flags, opened, demo);
    const { admit } = await import("./serve-access.ts");
    return await admit(program, flags, opened);
  } finally {
    await opened.close();
  }
}

async function listen(program: CliProgram, flags: Flags, opened: OpenServer, demo: boolean): Promise<number> {
  const { values, json } = flags;
  const settings = opened.config.serve;
  const host = typeof values.host === "string" ? values.host : settings.host;
  const port = values.port === undefined ? settings.port : readPort(values.port);
  const words = opened.words();
  if (port === undefined) return refuseUsage(program, json, "--port N: 0-65535");
  const starting = opened.listen({ host, port, log: (text) => program.err(`${text}\n`) });
  const stopped = untilStopped(program, opened.words, starting);
  let serving: RunningServer;
  try {
    serving = await starting;
  } catch (error) {
    if ((error as { code?: string }).code === undefined) throw error;
    if ((error as { code?: string }).code === "machine")
      return refuseWork(program, json, "machine", (error as Error).message);
    const text = words.portTaken(`${host}:${port}`, (error as Error).message);
    return refuseWork(program, json, "port", text);
  }
  const secret = await opened.signIn.createLink({ userId: "operator", role: "operator" });
  const link = `${serving.url}/login/${secret}`;
  if (json) program.out(`${JSON.stringify({ url: serving.url, login: link, demo })}\n`);
  else {
    program.out(`${[words.listening(serving.url), ...(demo ? words.demo : [])].join("\n")}\n\n`);
    program.out(`${words.loginLink(link)}\n${demo ? words.demoLinkNote : words.loginLinkNote}\n`);
    if (!/^(127\.|localhost$|::1$)/.test(host) && settings.public_url === null)
      program.err(`${words.exposed(host)}\n`);
  }
  await stopped;
  return EXIT.done;
}

function usage(program: CliProgram, { json }: Flags): number {
  return refuseUsage(program, json, "picoclaw serve --help");
}
