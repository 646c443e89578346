import { type Role, SCOPES, type Scope } from "../../application/ports/serve.ts";
import { isUserName } from "../../application/serve/access.ts";
import type { RunningServer } from "../../application/serve/server.ts";
import { isStoreAway } from "../../domain/store/store-trouble.ts";
import { fleetMessagesFor } from "../../domain/texts/fleet.ts";
import type { ServeMessages } from "../../domain/texts/serve.ts";
import {
  type Flags,
  printJson,
  readPort,
  refuseInput,
  refuseUsage,
  refuseWork,
  type Subcommand,
  succeed,
} from "./command.ts";
import { closing, openOrStop } from "./flags.ts";
import { type CliProgram, EXIT, type OpenServer } from "./program.ts";

/** `serve`: the console, the API and the channels, until a signal ends it. `serve link`, `serve token …`: who may in. */
export const command: Subcommand = {
  name: "serve",
  usage: "serve [link|token …]",
  flags: "--host= --port= --demo --user= --role= --scope= --demo-unless-configured",
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
  if (!demo) return run(program, flags, false);
  if (words.length > 0) return refuseUsage(program, "picoclaw serve --help");
  const place = await program.openDemo();
  try {
    const inside = program.elsewhere({ cwd: place.workspace, env: place.env });
    const within = { ...flags, values: { ...values, workspace: place.workspace } };
    return await run({ ...inside, json: program.json }, within, true);
  } finally {
    await place.remove();
  }
}

async function run(program: CliProgram, flags: Flags, demo: boolean): Promise<number> {
  const opened = await openServer(program, flags.values, demo);
  await using _ = closing(opened);
  return await (flags.words.length === 0
    ? listen(program, flags, opened, demo)
    : admit(program, flags, opened));
}

/** Opens the server with everything that it runs; nothing listens yet. */
export function openServer(program: CliProgram, values: Flags["values"], demo = false): Promise<OpenServer> {
  return openOrStop(program, values, (options) => program.openServe({ ...options, demo }));
}

async function listen(program: CliProgram, flags: Flags, opened: OpenServer, demo: boolean): Promise<number> {
  const { values } = flags;
  const settings = opened.config.serve;
  const host = typeof values.host === "string" ? values.host : settings.host;
  const port = values.port === undefined ? settings.port : readPort(values.port);
  const words = opened.words();
  if (port === undefined) return refuseUsage(program, "--port N: 0-65535");
  const starting = opened.listen({ host, port, log: (text) => program.err(`${text}\n`) });
  const stopped = untilStopped(program, opened.words, starting);
  let serving: RunningServer;
  try {
    serving = await starting;
  } catch (error) {
    if ((error as { code?: string }).code === undefined || isStoreAway(error)) throw error;
    if ((error as { code?: string }).code === "machine")
      return refuseWork(program, "machine", (error as Error).message);
    const text = words.portTaken(`${host}:${port}`, (error as Error).message);
    return refuseWork(program, "port", text);
  }
  const secret = await opened.signIn.createLink({ userId: "operator", role: "operator" });
  const link = `${serving.url}/login/${secret}`;
  if (program.json) printJson(program, { url: serving.url, login: link, demo });
  else {
    program.out(`${[words.listening(serving.url), ...(demo ? words.demo : [])].join("\n")}\n\n`);
    program.out(`${words.loginLink(link)}\n${demo ? words.demoLinkNote : words.loginLinkNote}\n`);
    if (!/^(127\.|localhost$|::1$)/.test(host) && settings.public_url === null)
      program.err(`${words.exposed(host)}\n`);
  }
  await stopped;
  return EXIT.done;
}

/** The first signal stops gently, the second at once, even during the start; a hang-up reloads the configuration. */
async function untilStopped(
  program: CliProgram,
  words: () => ServeMessages,
  starting: Promise<Pick<RunningServer, "reload" | "stop" | "noteFault">>,
): Promise<void> {
  const say = (text: string) => program.err(`${text}\n`);
  const reload = () => {
    void starting
      .then((serving) => serving.reload())
      .then((problem) => say(problem === null ? words().reloaded : words().reloadRefused(problem)))
      .catch((error: unknown) => say(words().reloadRefused(String(error))));
  };
  const signalled = Promise.withResolvers<void>();
  const count = { signals: 0 };
  const end = () => {
    count.signals += 1;
    if (count.signals === 1) return signalled.resolve();
    say(words().stoppingHard);
    process.exit(EXIT.failed);
  };
  process.on("SIGHUP", reload);
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, end);
  // The caller reports a failed start.
  const serving = await starting.catch(() => null);
  if (serving !== null) {
    const returnFaults = program.takeFaults(serving.noteFault);
    await signalled.promise;
    say(words().stopping);
    await serving.stop();
    returnFaults();
  }
  process.off("SIGHUP", reload);
  for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, end);
}

/** `serve link` and `serve token create|list|remove`: works beside a running server, through the store. */
async function admit(program: CliProgram, { values, words }: Flags, opened: OpenServer): Promise<number> {
  const say = opened.words();
  const bad = (text: string) => refuseUsage(program, text);
  const [what, verb, name] = words;
  const userId = typeof values.user === "string" ? values.user : "operator";
  // A person who is named without a role gets the lesser one.
  const role = (values.role ?? (userId === "operator" ? "operator" : "user")) as Role;
  if (role !== "operator" && role !== "user") return bad(say.badRole(String(role)));
  if (!isUserName(userId, role)) return bad(say.badUser(userId));
  if (what === "link" && verb === undefined) {
    const { host, port, public_url: publicUrl } = opened.config.serve;
    const configured = `${host === "0.0.0.0" ? "127.0.0.1" : host}:${values.port ?? port}`;
    const here = (values.port === undefined ? opened.liveAddress() : null) ?? configured;
    const base = publicUrl?.replace(/\/+$/, "") ?? `http://${here}`;
    const listens = await answers(`http://${here}/healthz`);
    const login = `${base}/login/${await opened.signIn.createLink({ userId, role })}`;
    const document = { login, user: userId, role, listening: listens };
    succeed(program, document, `${login}\n${say.loginLinkNote}`);
    if (!listens && !program.json) program.err(`${say.nothingListens(here)}\n`);
    return EXIT.done;
  }
  if (what !== "token") return bad(say.usage);
  switch (verb) {
    case "create": {
      const scopes =
        typeof values.scope === "string" ? values.scope.split(",").map((one) => one.trim()) : ["read"];
      const strange = scopes.find((scope) => !SCOPES.includes(scope as Scope));
      if (strange !== undefined) return bad(say.badScope(strange, SCOPES.join(", ")));
      if (name === undefined) return bad(say.usage);
      const { secret, token } = await opened.signIn.createToken({
        name,
        userId,
        role,
        scopes: scopes as Scope[],
      });
      const document = { id: token.id, token: secret, scopes, user: userId, role };
      return succeed(program, document, say.tokenCreated(secret));
    }
    case "list": {
      const tokens = (await opened.access.tokens()).map(({ hash: _, ...token }) => token);
      const lines = tokens.map(
        (token) =>
          `${token.id}  ${token.name}  ${token.userId} (${token.role})  ${token.scopes.join(",")}  ${token.lastUsedAt ?? "-"}`,
      );
      return succeed(program, { tokens }, lines.join("\n") || say.noTokens);
    }
    case "remove": {
      if (name === undefined) return bad(say.usage);
      if (!(await opened.access.removeToken(name)))
        return refuseInput(program, "unknown-token", say.tokenUnknown(name));
      return succeed(program, { success: true, id: name }, say.tokenRemoved(name));
    }
    default:
      return bad(say.usage);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}

const MOST_LANES = 1_000;

/** `join`: adds this machine, or another process on it, to the workers of a shared store until a signal ends it. */
export const joinCommand: Subcommand = {
  name: "join",
  usage: "join",
  flags: "--labels= --concurrency=",
  run: join,
};

async function join(program: CliProgram, { values }: Flags): Promise<number> {
  const opened = await openServer(program, values);
  await using _ = closing(opened);
  const t = fleetMessagesFor(opened.messages.locale);
  const bad = (text: string) => refuseUsage(program, text);
  const labels = String(values.labels ?? "")
    .split(",")
    .map((label) => label.trim())
    .filter((label) => label !== "");
  const concurrency = Number(values.concurrency ?? opened.config.serve.max_chats);
  if (!labels.every((label) => /^[\w.-]{1,60}$/.test(label))) return bad(t.badLabels);
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MOST_LANES)
    return bad(t.badConcurrency);
  if (opened.config.database_url === null) return refuseWork(program, "database", t.needsDatabase);
  const log = (text: string) => program.err(`${text}\n`);
  const starting = opened.join({ labels, concurrency, log });
  const stopped = untilStopped(program, opened.words, starting);
  const joined = await starting.catch((error: unknown) => {
    if ((error as { code?: string }).code !== "machine") throw error;
    return (error as Error).message;
  });
  if (typeof joined === "string") return refuseWork(program, "machine", joined);
  const { machineName: machine } = joined;
  const { root } = opened.workspace;
  const document = { machine, workspace: root, labels: joined.labels, concurrency };
  succeed(program, document, t.joined(machine, root, joined.labels.join(",")));
  await stopped;
  return EXIT.done;
}
