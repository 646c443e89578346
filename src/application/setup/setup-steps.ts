import type { ListTrouble, ModelSource } from "../../domain/models/model-facts.ts";
import {
  type ChosenModel,
  firstConfig,
  type ModelChoice,
  offeredFor,
  type SetupFindings,
} from "../../domain/setup/first-config.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { type SetupMessages, setupMessagesFor } from "../../domain/texts/setup.ts";
import { complete, completionFailure } from "../models/complete.ts";
import type { ModelRole, Models } from "../ports/models.ts";
import type { ChoiceTestResult, ModelTestResult, OpenedSetUp, WriteConfigResult } from "../ports/setup.ts";

type OpenSetup = Extract<OpenedSetUp, { ok: true }>;

export interface SetUpDeps {
  readonly locale: Locale;
  readonly file: string;
  readonly found: SetupFindings;
  readonly foreign: OpenSetup["foreign"];
  readonly exists: () => boolean;
  readonly write: (text: string, replace: boolean) => WriteConfigResult;
  readonly keepWindow: (model: string, window: number) => void;
  readonly openModels: (text: string) => Promise<{ readonly models: Models; readonly coder: ModelRole }>;
}

/** The first configuration of a machine, on which this was found. */
export function createSetUp(deps: SetUpDeps): OpenSetup {
  const { locale, file, found, foreign, exists } = deps;
  const textOf = (choice: ModelChoice) => firstConfig(found, choice, setupMessagesFor(locale).file);
  return {
    ok: true,
    locale,
    file,
    found,
    foreign,
    exists,
    test: async (choice, signal) => testChoice(choice, await deps.openModels(textOf(choice)), signal),
    write(choice, { replace }) {
      const result = deps.write(textOf(choice), replace);
      for (const chosen of result.written ? [choice.chat, choice.coder] : []) {
        const window = found.sources.find(({ provider }) => provider === chosen?.provider)?.window;
        if (chosen !== null && window !== undefined) deps.keepWindow(chosen.model, window);
      }
      return result;
    },
  };
}

export interface SetupStepsDeps {
  readonly open: () => Promise<OpenedSetUp>;
  /** Null, or why the server keeps its old configuration. */
  readonly reload: () => Promise<string | null>;
  readonly onTrouble: (error: unknown) => void;
}

/** The outcome of the last choice. A model may have to be loaded first, so no request waits for it. */
export type ChoiceTrial =
  | { readonly kind: "none" }
  | { readonly kind: "trying"; readonly choice: ModelChoice }
  /** Nothing was written. */
  | { readonly kind: "silent"; readonly choice: ModelChoice; readonly tested: ChoiceTestResult }
  | { readonly kind: "refused"; readonly why: string }
  | {
      readonly kind: "written";
      readonly file: string;
      readonly choice: ModelChoice;
      readonly tested: ChoiceTestResult;
    };

export type SetUpSteps = ReturnType<typeof createSetUpSteps>;

export function createSetUpSteps({ open, reload, onTrouble }: SetupStepsDeps) {
  const held: { found: Promise<OpenedSetUp> | null; trial: ChoiceTrial } = {
    found: null,
    trial: { kind: "none" },
  };

  function found(): Promise<OpenedSetUp> {
    held.found ??= open();
    return held.found;
  }

  async function tryOut(choice: ModelChoice): Promise<ChoiceTrial> {
    const opened = await found();
    if (!opened.ok) return { kind: "none" };
    const tested = await opened.test(choice, new AbortController().signal);
    if (tested.chat?.ok === false || tested.coder?.ok === false) return { kind: "silent", choice, tested };
    return write(opened, choice, tested);
  }

  async function write(
    opened: OpenSetup,
    choice: ModelChoice,
    tested: ChoiceTestResult,
  ): Promise<ChoiceTrial> {
    const done = opened.write(choice, { replace: false });
    const refused = await reload();
    if (refused !== null) return { kind: "refused", why: refused };
    return done.written ? { kind: "written", file: opened.file, choice, tested } : { kind: "none" };
  }

  return {
    found,
    lookAgain: (): void => {
      held.found = null;
    },
    trial: (): ChoiceTrial => held.trial,
    /** Tries what was chosen, and writes it if all of it answers. False while another is being tried. */
    begin(choice: ModelChoice): boolean {
      if (held.trial.kind === "trying") return false;
      held.trial = { kind: "trying", choice };
      tryOut(choice)
        .catch((error: unknown): ChoiceTrial => {
          onTrouble(error);
          return { kind: "refused", why: String(error) };
        })
        .then((trial) => {
          held.trial = trial;
        });
      return true;
    },
  };
}

/** By `provider/model`; null: none of them. */
export function findOfferedModel(
  opened: OpenSetup,
  purpose: "talk" | "code",
  name: string,
): ChosenModel | null {
  return offeredFor(opened.found, purpose).find((one) => modelNameOf(one) === name) ?? null;
}

export const modelNameOf = ({ provider, model }: ChosenModel): string => `${provider}/${model}`;

const NAMED = 6;

/** One line each: what is there, then what is not. */
export function describeFound(found: SetupFindings, words: SetupMessages): string[] {
  const { ollama, sources, keys, github, git, docker, bubblewrap } = found;
  const mark = (there: boolean, text: string) => `${there ? "✓" : "·"} ${text}`;
  const missing = keys.filter(({ there }) => !there).map(({ variable }) => variable);
  const names = ollama.models.map(({ name }) => name);
  const more = names.length > NAMED ? [`… (${names.length})`] : [];
  const lines = [
    names.length > 0
      ? mark(true, words.ollama(ollama.baseUrl, [...names.slice(0, NAMED), ...more]))
      : mark(false, (ollama.reachable ? words.noModels : words.noOllama)(ollama.baseUrl)),
    ...sources.map((source) =>
      mark(
        source.trouble === null,
        source.trouble === null
          ? words.source(source.provider, source.models?.length ?? 0, source.window)
          : describeListTrouble(source, source.trouble, words),
      ),
    ),
    ...(missing.length === 0 ? [] : [mark(false, words.noKeys(missing))]),
    ...(found.heads ?? []).map(({ name, by }) => mark(true, words.head(name, by))),
    mark(github !== null, github === null ? words.noGithub : words.github(github)),
    mark(git, git ? "git" : words.noGit),
    mark(docker !== null, docker === null ? words.noDocker : words.docker(docker.version)),
    ...(bubblewrap === null ? [] : [mark(bubblewrap, words.bubblewrap(bubblewrap))]),
  ];
  const isThere = (line: string) => line.startsWith("✓");
  return [words.foundTitle, ...lines.filter(isThere), ...lines.filter((line) => !isThere(line))];
}

export function describeListTrouble(
  { provider, address, keyVariable }: ModelSource,
  trouble: ListTrouble,
  words: SetupMessages,
): string {
  switch (trouble.kind) {
    case "unreachable":
      return words.sourceUnreachable(provider, address);
    case "refused":
      return words.sourceRefused(provider, address, keyVariable);
    case "answered":
      return words.sourceUnlisted(provider, address, trouble.status);
  }
}

/** Why nothing was written: what is in the way of the keys that are there, else the ways to a first model. */
export function describeNothing(
  { sources }: SetupFindings,
  tested: ChoiceTestResult | null,
  words: SetupMessages,
): string[] {
  const inTheWay = sources.filter(({ trouble }) => trouble !== null);
  const lines = inTheWay.flatMap((source) =>
    source.trouble === null ? [] : [`  · ${describeListTrouble(source, source.trouble, words)}`],
  );
  const failed = tested?.chat?.ok === false || tested?.coder?.ok === false;
  // A server at a usual address that wants a key may be anything: it does not hide the ways to a first model.
  if (inTheWay.some(({ local, keyVariable }) => !local || keyVariable !== null))
    return [words.nothingFor, ...lines, words.thenAgain];
  return failed ? [words.nothingTested, words.thenAgain] : [...words.nothing, ...lines];
}

export function describeTest(choice: ModelChoice, tested: ChoiceTestResult, words: SetupMessages): string[] {
  const chat = line(choice.chat, tested.chat);
  return isSameModel(choice.chat, choice.coder) ? chat : [...chat, ...line(choice.coder, tested.coder)];
  function line(chosen: ChosenModel | null, one: ModelTestResult | null): string[] {
    if (chosen === null || one === null) return [];
    const name = `${chosen.provider}/${chosen.model}`;
    return [one.ok ? `✓ ${words.answered(name, one.answer, one.ms)}` : `✗ ${words.silent(name, one.why)}`];
  }
}

export function foundJson({ ollama, sources, keys, heads = [], ...machine }: SetupFindings): object {
  return {
    ollama: {
      base_url: ollama.baseUrl,
      reachable: ollama.reachable,
      models: ollama.models.map(({ name }) => name),
    },
    providers: sources.map(({ provider, address, local, models, trouble }) => ({
      provider,
      address,
      local,
      models,
      ...(trouble !== null && { trouble }),
    })),
    keys: Object.fromEntries(keys.map(({ variable, there }) => [variable, there])),
    ...machine,
    heads: heads.map(({ name, by }) => ({ name, login: by })),
  };
}

/** A local model may have to be loaded first; the whole set-up still takes less than a minute. */
const TEST_MS = { local: 50_000, cloud: 25_000 } as const;

/** Sends each chosen model one short message; a model that was chosen twice gets one. */
async function testChoice(
  choice: ModelChoice,
  { models, coder }: { readonly models: Models; readonly coder: ModelRole },
  signal: AbortSignal,
): Promise<ChoiceTestResult> {
  const asking = choice.chat === null ? null : testModel(models, "chat", signal);
  const asksCoder = choice.coder !== null && !isSameModel(choice.chat, choice.coder);
  const [chat, code] = await Promise.all([
    asking,
    asksCoder ? testModel(models, coder, signal) : choice.coder === null ? null : asking,
  ]);
  return { chat, coder: code };
}

function isSameModel(one: ChosenModel | null, other: ChosenModel | null): boolean {
  return one !== null && one.provider === other?.provider && one.model === other.model;
}

async function testModel(models: Models, role: ModelRole, signal: AbortSignal): Promise<ModelTestResult> {
  const model = models.forRole(role);
  if (!("generate" in model)) return { ok: false, why: model.message };
  const began = performance.now();
  const asked = { messages: [{ role: "user" as const, text: "Answer with the word OK." }], signal };
  const completion = await complete(model, asked, {
    deadline: AbortSignal.timeout(model.local ? TEST_MS.local : TEST_MS.cloud),
  });
  if (completion.kind === "finished" || completion.kind === "cut") {
    const answer = completion.answer.text.replace(/\s+/g, " ").trim().slice(0, 60);
    return { ok: true, answer, ms: Math.round(performance.now() - began) };
  }
  return { ok: false, why: completionFailure(completion).message };
}
