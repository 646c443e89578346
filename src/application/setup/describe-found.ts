import type { ChosenModel, ModelChoice } from "../../domain/setup/choice.ts";
import type { SetupFindings } from "../../domain/setup/found.ts";
import type { SetupMessages } from "../../domain/texts/texts.ts";
import type { ChoiceTestResult, ModelTestResult } from "../ports/setup.ts";

const NAMED = 6;

/** What was found, a line each. */
export function describeFound(found: SetupFindings, words: SetupMessages): string[] {
  const { ollama, sources, keys, github, git, docker, bubblewrap } = found;
  const mark = (there: boolean, text: string) => `${there ? "✓" : "·"} ${text}`;
  const missing = keys.filter(({ there }) => !there).map(({ variable }) => variable);
  const names = ollama.models.map(({ name }) => name);
  const more = names.length > NAMED ? [`… (${names.length})`] : [];
  return [
    words.foundTitle,
    names.length > 0
      ? mark(true, words.ollama(ollama.baseUrl, [...names.slice(0, NAMED), ...more]))
      : mark(false, (ollama.reachable ? words.noModels : words.noOllama)(ollama.baseUrl)),
    ...sources.map(({ provider, address, models }) =>
      mark(
        models !== null,
        models === null ? words.sourceSilent(provider, address) : words.source(provider, models.length),
      ),
    ),
    ...(missing.length === 0 ? [] : [mark(false, words.noKeys(missing))]),
    mark(github !== null, github === null ? words.noGithub : words.github(github)),
    mark(git, git ? "git" : words.noGit),
    mark(docker !== null, docker === null ? words.noDocker : words.docker(docker.version)),
    ...(bubblewrap === null ? [] : [mark(bubblewrap, words.bubblewrap(bubblewrap))]),
  ];
}

/** How the chosen models answered. */
export function describeTest(choice: ModelChoice, tested: ChoiceTestResult, words: SetupMessages): string[] {
  return [...line(choice.chat, tested.chat), ...line(choice.coder, tested.coder)];
  function line(chosen: ChosenModel | null, one: ModelTestResult | null): string[] {
    if (chosen === null || one === null) return [];
    const name = `${chosen.provider}/${chosen.model}`;
    return [one.ok ? `✓ ${words.answered(name, one.answer, one.ms)}` : `✗ ${words.silent(name, one.why)}`];
  }
}

export function foundJson({ ollama, sources, keys, github, git, docker, bubblewrap }: SetupFindings): object {
  return {
    ollama: {
      base_url: ollama.baseUrl,
      reachable: ollama.reachable,
      models: ollama.models.map(({ name }) => name),
    },
    providers: sources.map(({ provider, address, local, models }) => ({ provider, address, local, models })),
    keys: Object.fromEntries(keys.map(({ variable, there }) => [variable, there])),
    github,
    git,
    docker,
    bubblewrap,
  };
}
