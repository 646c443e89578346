import { existsSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { setupMessagesFor } from "../../domain/texts/setup.ts";
import { type Subcommand, succeed } from "./command.ts";
import type { CliProgram } from "./program.ts";

type InstalledBy = "checkout" | "npm" | "npx" | "one-file" | "image";

/** `update`: how to update this installation. It changes nothing and contacts no server. */
export const command: Subcommand = { name: "update", usage: "update", run: update };

async function update(program: CliProgram): Promise<number> {
  const { folder, by } = findInstallation();
  const words = setupMessagesFor(program.locale).update;
  const commands = words.commands[by];
  const document = { version: program.version, folder, installed_by: by, commands };
  const lines = commands.map((line) => `  ${line}`);
  const text = [words.current(program.version, folder), "", ...lines, "", words.after].join("\n");
  return succeed(program, document, text);
}

/** `uninstall`: how this installation is removed. It changes nothing: the undo data of every job is in the home that it names. */
export const uninstallCommand: Subcommand = { name: "uninstall", usage: "uninstall", run: uninstall };

async function uninstall(program: CliProgram): Promise<number> {
  const { home } = program;
  const { folder, by } = findInstallation();
  const words = setupMessagesFor(program.locale).uninstall;
  const commands = words.commands[by](folder);
  const document = { version: program.version, folder, installed_by: by, commands, home };
  const lines = commands.map((line) => `  ${line}`);
  const text = [words.current(program.version, folder), "", ...lines, "", words.data(home)].join("\n");
  return succeed(program, document, text);
}

function findInstallation(): { readonly folder: string; readonly by: InstalledBy } {
  const here = import.meta.dir;
  const folder = realpathSync(join(here, basename(here) === "cli" ? "../../.." : ".."));
  return { folder, by: findInstaller(folder, existsSync) };
}

/** Each way of installing leaves the program in a folder of its own kind. */
export function findInstaller(folder: string, exists: (path: string) => boolean): InstalledBy {
  // The one file writes it when it has unpacked itself.
  if (exists(join(folder, "complete")))
    return exists("/.dockerenv") || exists("/run/.containerenv") ? "image" : "one-file";
  if (/\/_npx\/[^/]+\/node_modules\//.test(`${folder}/`)) return "npx";
  return /\/node_modules\/picoclaw\/$/.test(`${folder}/`) ? "npm" : "checkout";
}
