import { existsSync } from "node:fs";
import type { CliProgram } from "../adapters/cli/program.ts";
import { homeConfigFile, isConfigured, resolveHome } from "../config/environment.ts";
import { secretVariables } from "../domain/platform/known-secrets.ts";
import { resolveLocale } from "../domain/texts/locale.ts";
import { takeFaults } from "../infrastructure/platform/process-faults.ts";
import { hideSecrets, isTerminal, writeAll } from "../infrastructure/platform/standard-streams.ts";
import { openChatHistory, readBounded, readInputBounded } from "../infrastructure/platform/text-files.ts";
import { VERSION } from "../version.ts";

/** The command line's ports: this process, its streams, and a workspace wired on demand. */
export function createProgram(env: Readonly<Record<string, string | undefined>>, cwd: string): CliProgram {
  // Those that the configuration names are known once it is read.
  hideSecrets(() => secretVariables(env));
  const home = resolveHome(env);
  return {
    env,
    cwd,
    locale: resolveLocale({ env }),
    // Set for each command, when its flags are known.
    json: false,
    home,
    version: VERSION,
    out: (text) => writeAll(1, text),
    err: (text) => writeAll(2, text),
    logFault: async (error) => (await import("./fault-log.ts")).logFault(env, cwd, error),
    takeFaults,
    page: async (text) => (await import("../infrastructure/platform/terminal.ts")).showInPager(text, env),
    errIsTerminal: isTerminal(2),
    outIsTerminal: isTerminal(1),
    inIsTerminal: isTerminal(0),
    columns: () => (isTerminal(1) ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY),
    errColumns: () => process.stderr.columns || 80,
    readInput: readInputBounded,
    readFile: readBounded,
    elsewhere: (place) => createProgram(place.env, place.cwd),
    openIndex: async (options) => (await import("./job-index.ts")).openJobIndex(env, options),
    openStoreData: async (options) => (await import("./store-data.ts")).openStoreData(env, options),
    openServe: async (options) => (await import("./serve.ts")).openServe(env, options),
    openFleet: async (options) => (await import("./fleet-control.ts")).openFleetControl(env, options),
    openDemo: async () => {
      const place = await (await import("../infrastructure/serve/demo-folder.ts")).openDemo(
        env,
        resolveLocale({ env }),
      );
      // The project is ours: its tests may run where nothing confines them.
      const { trustWorkspace } = await import("../config/trust.ts");
      trustWorkspace({ home: resolveHome(place.env), workspace: place.workspace, now: new Date() });
      return place;
    },
    namedHosts: async (folder) => (await import("./named-hosts.ts")).hostsOf(folder),
    openSetUp: async (options) => (await import("./set-up.ts")).openSetUp(env, options),
    modelTroubles: async (options) => (await import("./diagnose.ts")).modelTroubles(env, options),
    tableTrouble: async () => {
      const { loadCatalogue } = await import("../infrastructure/models/own-catalogue.ts");
      return loadCatalogue(home).trouble;
    },
    askLine: async (question, options) =>
      (await import("../infrastructure/platform/terminal.ts")).askLine(question, options),
    keepKey: async (name, value) => {
      const { keepKey, keptKeysFile } = await import("../infrastructure/setup/kept-keys.ts");
      keepKey(home, name, value);
      // The program continues with it: `init` asks for a key and then opens the conversation.
      Object.assign(env, { [name]: value ?? undefined });
      return keptKeysFile(home);
    },
    openInBrowser: async (address) =>
      (await import("../infrastructure/platform/terminal.ts")).openInBrowser(address, env),
    removeKeptAside: async ({ workspace: { storage } }, jobId) =>
      (await import("../infrastructure/engine/kept-aside.ts")).removeKeptAside(storage, jobId),
    diagnose: async (opened, options) => (await import("./diagnose.ts")).diagnose(env, opened, options),
    openWorkspace: async (options) => (await import("./workspace.ts")).openWorkspace(env, options),
    openProcesses: async (options) => (await import("./processes.ts")).openProcessList(env, options),
    openToolkit: async (options) => (await import("./toolkit.ts")).openToolkit(env, options),
    terminalHost: async () =>
      (await import("../infrastructure/platform/terminal.ts")).createTerminalHost(env),
    isConfigured: () => isConfigured(env, cwd),
    hasConfigFile: () => existsSync(homeConfigFile(home)),
    chatHistory: openChatHistory(home),
    openHistory: async (options) => (await import("./history.ts")).openHistory(env, options),
    openChecks: async (options) => (await import("./chat.ts")).openKnownChecks(env, options),
    openFigures: async (options) => (await import("./history.ts")).openFigures(env, options),
    openCompare: async (options) => (await import("./compare.ts")).openCompare(env, options),
    openChat: async ({ isOnce = false, ...options }) =>
      (await import("./chat.ts")).openChat(env, options, { isOnce }),
    openEnvironments: async (options) => (await import("./environments.ts")).openEnvironments(env, options),
    openSolve: async (options) => (await import("./solve.ts")).openSolve(env, options),
    openTasks: async (options) => (await import("./tasks.ts")).openTasks(env, options),
    openMcpServers: async (options) => (await import("./mcp-servers.ts")).openMcpServers(env, options),
    openMcp: async (options) =>
      (await import("./mcp.ts")).openMcp(env, options, (text) => writeAll(2, `${text}\n`)),
    serveAcp: async (options, stop) => {
      const { serveAcpOnStdio } = await import("./acp.ts");
      await serveAcpOnStdio(env, options, { log: (text) => writeAll(2, `${text}\n`), stop });
    },
    toolDefinitions: async (form) => (await import("../tools/registry/definitions.ts")).toolDefinitions(form),
  };
}
