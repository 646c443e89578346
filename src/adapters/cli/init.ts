import type { InitOutcome } from "../../domain/setup/init-outcome.ts";
import { messagesFor } from "../../domain/texts/messages.ts";
import type { SetupMessages } from "../../domain/texts/texts.ts";
import { setupMessagesFor } from "../../domain/texts/texts.ts";
import type { Subcommand } from "./command.ts";
import { fail } from "./fail.ts";
import { readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

type Done = Extract<InitOutcome, { ok: true }>;

/** `init`: a first configuration file from what this machine has, and what to try next. Never overwrites. */
export const command: Subcommand = {
  name: "init",
  usage: "init",
  flags: {},
  words: 0,
  run: init,
};

async function init(program: CliProgram, args: readonly string[]): Promise<number> {
  const { values } = await readFlags(program, command, args);
  const done = await program.init({
    cwd: program.cwd,
    ...(typeof values.workspace === "string" && { workspace: values.workspace }),
    ...(typeof values.config === "string" && { configFile: values.config }),
  });
  const messages = messagesFor(done.locale);
  if (!done.ok) {
    const text = [messages.configInvalid, ...done.problems.map(messages.configProblem)].join("\n  ");
    const facts = { problems: done.problems };
    return fail(program, values.json === true, { exitCode: EXIT.usage, code: "configuration", text, facts });
  }
  const words = setupMessagesFor(done.locale);
  const next = nextCommand(done, words);
  if (values.json === true) program.out(`${JSON.stringify(document(done, next))}\n`);
  else program.out(`${report(done, words, next).join("\n")}\n`);
  return EXIT.done;
}

function nextCommand({ talks, codes }: Done, words: SetupMessages): string {
  if (talks) return `picoclaw chat ${JSON.stringify(words.hello)}`;
  return codes ? `picoclaw chat ${JSON.stringify(words.firstChange)}` : "picoclaw serve --demo";
}

function report(done: Done, words: SetupMessages, next: string): string[] {
  const { ollama, keys, docker, bubblewrap } = done.found;
  const mark = (there: boolean, text: string) => `${there ? "✓" : "!"} ${text}`;
  return [
    (done.written ? words.written : words.kept)(done.file),
    "",
    ollama.models.length > 0
      ? mark(true, words.ollama(ollama.baseUrl, ollama.models))
      : mark(false, (ollama.reachable ? words.noModels : words.noOllama)(ollama.baseUrl)),
    ...(done.missingModel !== null && ollama.models.length > 0
      ? [mark(false, words.modelMissing(done.missingModel))]
      : []),
    ...keys.map(({ variable, there }) => mark(there, words.key(variable, there))),
    mark(docker !== null, docker === null ? words.noDocker : words.docker(docker.version)),
    ...(bubblewrap === null ? [] : [mark(bubblewrap, words.bubblewrap(bubblewrap))]),
    "",
    words.next(next),
  ];
}

function document({ file, written, found, missingModel }: Done, next: string): object {
  const { ollama, keys, docker, bubblewrap } = found;
  return {
    success: true,
    file,
    written,
    found: {
      ollama: { base_url: ollama.baseUrl, reachable: ollama.reachable, models: ollama.models },
      keys: Object.fromEntries(keys.map(({ variable, there }) => [variable, there])),
      docker,
      bubblewrap,
    },
    missing_model: missingModel,
    next,
  };
}
