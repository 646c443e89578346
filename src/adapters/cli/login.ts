/**
 * API keys that a person gives: `login`, `/login` and the question of `init`. In: a provider's name, or the key itself. Out: a
 * tested key in the user's own file. Invariant: what is typed for a key is never shown, and a key is sent to no vendor but the
 * one that the user names or the key's own form names.
 */
import { describeListTrouble } from "../../application/setup/setup-steps.ts";
import { ownMember } from "../../domain/platform/json-members.ts";
import { type SetupMessages, setupMessagesFor } from "../../domain/texts/setup.ts";
import { type Flags, fail, type Subcommand, succeed } from "./command.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { wrapOutput } from "./terminal-text.ts";

/** Providers whose key can be stored, with its variable; common other names of a provider are accepted. */
const KEYS = {
  claude: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  gemini: "GEMINI_API_KEY",
  deepseek: "DEEPSEEK_API_KEY",
  openrouter: "OPENROUTER_API_KEY",
} as const;
type KeyProvider = keyof typeof KEYS;
export const KEY_PROVIDERS: readonly string[] = Object.keys(KEYS);
const OTHER_NAMES: Readonly<Record<string, KeyProvider>> = {
  anthropic: "claude",
  google: "gemini",
  chatgpt: "openai",
};

/** Beginnings of keys that one vendor alone gives out. `sk-` alone is a form of several. */
const OWN_FORMS: readonly (readonly [RegExp, KeyProvider])[] = [
  [/^sk-ant-/, "claude"],
  [/^sk-or-/, "openrouter"],
  [/^sk-(?:proj|svcacct|admin)-/, "openai"],
  [/^AIza/, "gemini"],
];

/** `login [PROVIDER]`: asks for an API key, tests it, and keeps it outside of every workspace for this user alone. */
export const command: Subcommand = {
  name: "login",
  usage: "login [PROVIDER]",
  flags: "--forget",
  words: 1,
  run: login,
};

async function login(whole: CliProgram, { values, words: given }: Flags): Promise<number> {
  const program = whole.json ? whole : wrapOutput(whole);
  const words = setupMessagesFor(program.locale);
  const refuse = (code: string, text: string, exitCode: (typeof EXIT)[keyof typeof EXIT] = EXIT.usage) =>
    fail(program, { exitCode, code, text });
  const canAsk = program.inIsTerminal && !program.json;
  const provider = given[0] === undefined ? null : readProvider(given[0]);
  if (provider === null && (given[0] !== undefined || !canAsk || values.forget === true))
    return refuse("provider", words.login.unknown(nameToShow(given[0] ?? ""), KEY_PROVIDERS));
  if (provider !== null && values.forget === true) {
    const file = await program.keepKey(KEYS[provider], null);
    return succeed(program, { success: true, provider, file }, words.login.forgotten(provider, file));
  }
  // A program that reads JSON gets one document: a mistake ends it.
  const kept =
    provider === null || canAsk
      ? await askUntilKept(program, words, { provider })
      : await keepTestedKey(program, { provider, key: await readKey(program, words, provider) }, words);
  if (!kept.ok) return refuse(kept.code, kept.text, kept.code === "no-key" ? EXIT.usage : EXIT.refused);
  const { file, models, newest } = kept;
  const document = { success: true, provider: kept.provider, file, models, newest };
  return succeed(program, document, `${words.login.kept(kept)}\n${words.login.next}`);
}

async function readKey(program: CliProgram, words: SetupMessages, provider: KeyProvider): Promise<string> {
  const text = program.inIsTerminal
    ? await program.askLine(words.login.ask(provider), { isHidden: true })
    : new TextDecoder().decode(program.readInput());
  return (text ?? "").trim();
}

function readProvider(text: string): KeyProvider | null {
  const name = text.trim().toLowerCase();
  if (Object.hasOwn(KEYS, name)) return name as KeyProvider;
  return ownMember(OTHER_NAMES, name) ?? null;
}

/** What a person typed as a name, unless it may be a key. */
function nameToShow(text: string): string {
  return /^\s*[a-z]{1,20}\s*$/i.test(text) ? text.trim() : "";
}

type KeptKey = Awaited<ReturnType<typeof keepTestedKey>>;

/** Asks the provider for its models with the key; only a key that it accepts is kept. */
async function keepTestedKey(
  program: CliProgram,
  { provider, key }: { readonly provider: KeyProvider; readonly key: string },
  words: SetupMessages,
) {
  if (!KEY.test(key)) return { ok: false, code: "no-key", text: words.login.notAKey } as const;
  const owner = ownerOf(key);
  if (owner !== null && owner !== provider) {
    const text = words.login.ofAnother({ owner, provider, variable: KEYS[provider] });
    return { ok: false, code: "no-key", text } as const;
  }
  const env = { ...program.env, [KEYS[provider]]: key };
  const opened = await program
    .elsewhere({ env, cwd: program.cwd })
    .openSetUp({ cwd: program.cwd, startOver: true });
  const source = opened.ok ? opened.found.sources.find((one) => one.provider === provider) : undefined;
  if (source === undefined || source.trouble !== null) {
    const why =
      source?.trouble == null
        ? ""
        : source.trouble.kind === "refused"
          ? words.login.refused(provider, source.address)
          : describeListTrouble(source, source.trouble, words);
    return { ok: false, code: "key-refused", text: words.login.notKept(why) } as const;
  }
  const file = await program.keepKey(KEYS[provider], key);
  return { ok: true, provider, file, models: source.models?.length ?? 0, newest: source.usual } as const;
}

const KEY = /^[!-~]{8,400}$/;

function ownerOf(key: string): KeyProvider | null {
  return OWN_FORMS.find(([form]) => form.test(key))?.[1] ?? null;
}

interface KeyQuestion {
  readonly provider: KeyProvider | null;
  /** In place of the usual question for a provider or a key. */
  readonly question?: string | undefined;
}

/** Asks unseen until a key is kept; an empty line, or the end of the input, leaves. */
async function askUntilKept(
  program: CliProgram,
  words: SetupMessages,
  { provider: named, question = words.login.which(KEY_PROVIDERS) }: KeyQuestion,
): Promise<KeptKey> {
  const ask = async (text: string) => ((await program.askLine(text, { isHidden: true })) ?? "").trim();
  let provider = named;
  let key = "";
  for (;;) {
    const text = await ask(
      provider !== null
        ? words.login.ask(provider)
        : key === ""
          ? question
          : words.login.whose(KEY_PROVIDERS),
    );
    if (text === "") return { ok: false, code: "no-key", text: words.login.nothingKept };
    if (provider !== null) key = text;
    else {
      provider = readProvider(text) ?? (key === "" ? ownerOf(text) : null);
      if (provider === null && key === "" && nameToShow(text) === "" && KEY.test(text)) {
        key = text;
        continue;
      }
      if (provider === null) {
        program.out(`${words.login.unknown(nameToShow(text), KEY_PROVIDERS)}\n`);
        continue;
      }
      if (key === "" && ownerOf(text) !== null) key = text;
      if (key === "") continue;
    }
    const kept = await keepTestedKey(program, { provider, key }, words);
    if (kept.ok) return kept;
    program.out(`${kept.text}\n`);
    key = "";
    provider = named;
  }
}

/** For `init` and for a conversation: a key that is pasted there. False: none was given. */
export async function askForKey(
  whole: CliProgram,
  words: SetupMessages,
  { provider, question }: { readonly provider?: string | undefined; readonly question?: string },
): Promise<boolean> {
  const program = wrapOutput(whole);
  const named = provider === undefined ? null : readProvider(provider);
  if (provider !== undefined && named === null)
    program.out(`${words.login.unknown(nameToShow(provider), KEY_PROVIDERS)}\n`);
  const kept = await askUntilKept(program, words, { provider: named, question });
  program.out(`${kept.ok ? words.login.kept(kept) : kept.text}\n\n`);
  return kept.ok;
}
