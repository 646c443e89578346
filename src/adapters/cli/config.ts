import { checkConfig, describeConfig, loadConfig, sourceText } from "../../config/load.ts";
import { listProblems } from "../../domain/texts/config-problem.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { resolveLocale } from "../../domain/texts/locale.ts";
import { type Flags, printJson, type Subcommand } from "./command.ts";
import { openOptions } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `config show` prints the effective configuration, `config check` judges it. */
export const command: Subcommand = { name: "config", usage: "config show|check", words: 1, run: config };

async function config(program: CliProgram, flags: Flags): Promise<number> {
  const [verb = "show"] = flags.words;
  if (verb === "check") return check(program, flags);
  if (verb === "show") return show(program, flags);
  const messages = messagesFor(program.locale);
  program.err(`${messages.unexpectedWords(verb)}\n${messages.usageLines(command.usage, command.name)}\n`);
  return EXIT.usage;
}

async function check(program: CliProgram, flags: Flags): Promise<number> {
  const place = openOptions(program, flags.values);
  const found = await checkConfig({ env: program.env, ...place });
  const { file = "", detail = "" } = (await program.tableTrouble()) ?? {};
  const table = file === "" ? [] : [{ code: "unreadable-table", detail, at: { file } } as const];
  const checked = { ...found, ok: found.ok && file === "", errors: [...found.errors, ...table] };
  const troubles = checked.ok ? await program.modelTroubles(place) : [];
  const messages = messagesFor(program.locale);
  if (program.json) {
    printJson(program, { ...checked, cannot_work: troubles });
    return checked.ok ? EXIT.done : EXIT.usage;
  }
  for (const file of checked.files) program.out(`${file}\n`);
  for (const warning of checked.warnings)
    program.err(`${messages.warningLabel} ${messages.configWarning(warning)}\n`);
  for (const { key, variable } of checked.unset)
    program.err(
      `${messages.warningLabel} ${messages.configProblem({ code: "unset-reference", key, variable })}\n`,
    );
  for (const { role, message } of troubles)
    program.err(`${messages.warningLabel} ${messages.cannotWork(role, message)}\n`);
  if (checked.ok) program.out(`${messages.configValid}\n`);
  else program.err(`${[messages.configInvalid, ...listProblems(messages, checked.errors)].join("\n  ")}\n`);
  return checked.ok ? EXIT.done : EXIT.usage;
}

async function show(program: CliProgram, flags: Flags): Promise<number> {
  const loaded = await loadConfig({ env: program.env, ...openOptions(program, flags.values) });
  const messages = messagesFor(
    resolveLocale({ env: program.env, ...(loaded.ok && { config: loaded.config }) }),
  );
  if (!loaded.ok) {
    program.err(`${[messages.configInvalid, ...listProblems(messages, loaded.errors)].join("\n  ")}\n`);
    return EXIT.usage;
  }
  for (const warning of loaded.warnings)
    program.err(`${messages.warningLabel} ${messages.configWarning(warning)}\n`);
  const keys = describeConfig(loaded);
  if (program.json)
    return printJson(program, { workspace: loaded.workspace, home: loaded.home, files: loaded.files, keys });
  for (const { key, value, source } of keys)
    program.out(
      `${key}: ${JSON.stringify(value)}${source.kind === "default" ? "" : `  # ${sourceText(source)}`}\n`,
    );
  return EXIT.done;
}
