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
  const asked =
    given[0] ??
    (program.inIsTerminal && !program.json ? await program.askLine(words.login.which(KEY_PROVIDERS)) : "");
  const provider = readProvider(asked ?? "");
  if (provider === null) return refuse("provider", words.login.unknown((asked ?? "").trim(), KEY_PROVIDERS));
  if (values.forget === true) {
    const file = await program.keepKey(KEYS[provider], null);
    return succeed(program, { success: true, provider, file }, words.login.forgotten(provider, file));
  }
  const key = program.inIsTerminal
    ? await program.askLine(words.login.ask(provider), { isHidden: true })
    : new TextDecoder().decode(program.readInput());
  const kept = await keepTestedKey(program, { provider, key: (key ?? "").trim() }, words);
  if (!kept.ok) return refuse(kept.code, kept.text, kept.code === "no-key" ? EXIT.usage : EXIT.refused);
  const { file, models, newest } = kept;
  const document = { success: true, provider, file, models, newest };
  return succeed(program, document, `${words.login.kept({ provider, ...kept })}\n${words.login.next}`);
}

function readProvider(text: string): KeyProvider | null {
  const name = text.trim().toLowerCase();
  if (Object.hasOwn(KEYS, name)) return name as KeyProvider;
  return ownMember(OTHER_NAMES, name) ?? null;
}

/** Asks the provider for its models with the key; only a key that it accepts is kept. */
async function keepTestedKey(
  program: CliProgram,
  { provider, key }: { readonly provider: KeyProvider; readonly key: string },
  words: SetupMessages,
) {
  if (!/^[!-~]{8,400}$/.test(key)) return { ok: false, code: "no-key", text: words.login.notAKey } as const;
  const env = { ...program.env, [KEYS[provider]]: key };
  const opened = await program
    .elsewhere({ env, cwd: program.cwd })
    .openSetUp({ cwd: program.cwd, startOver: true });
  const source = opened.ok ? opened.found.sources.find((one) => one.provider === provider) : undefined;
  if (source === undefined || source.trouble !== null) {
    const why = source?.trouble == null ? "" : describeListTrouble(source, source.trouble, words);
    return { ok: false, code: "key-refused", text: words.login.notKept(why) } as const;
  }
  const file = await program.keepKey(KEYS[provider], key);
  return { ok: true, file, models: source.models?.length ?? 0, newest: source.usual } as const;
}

/** For `init` and for a conversation: a key that is pasted there. False: none was given, or it is not accepted. */
export async function askForKey(
  whole: CliProgram,
  words: SetupMessages,
  { provider: named, question }: { readonly provider?: string | undefined; readonly question?: string },
): Promise<boolean> {
  const program = wrapOutput(whole);
  const answer = named ?? (await program.askLine(question ?? words.login.which(KEY_PROVIDERS))) ?? "";
  const provider = readProvider(answer);
  if (provider === null) {
    if (answer.trim() !== "") program.out(`${words.login.unknown(answer.trim(), KEY_PROVIDERS)}\n\n`);
    return false;
  }
  const key = await program.askLine(words.login.ask(provider), { isHidden: true });
  const kept = await keepTestedKey(program, { provider, key: (key ?? "").trim() }, words);
  program.out(`${kept.ok ? words.login.kept({ provider, ...kept }) : kept.text}\n\n`);
  return kept.ok;
}
