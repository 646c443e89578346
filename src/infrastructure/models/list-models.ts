import { billionsOf, type InstalledModel } from "../../domain/models/catalogue.ts";
import { joinUrl, localityOf } from "../../domain/models/locality.ts";
import type { ListTrouble } from "../../domain/models/model-facts.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { countAt, fieldAt, textAt } from "./json-fields.ts";
import { type Fetch, plainly } from "./model-settings.ts";
import { answersToAnyName } from "./wire.ts";

/** The characters of a model's name; any other name is not shown and not written anywhere. */
const NAME = /^[\w./:-]{1,200}$/;

/** The names of an Ollama's models, for a person who waits; none where it does not answer at once. */
export async function listModelNames(baseUrl: string): Promise<readonly string[]> {
  const installed = await listModels(baseUrl, AbortSignal.timeout(1_000));
  return (installed ?? []).map(({ name }) => name);
}

/** The models that an Ollama has on its own machine, or null when none answers. */
export async function listModels(
  baseUrl: string,
  signal: AbortSignal,
  ask: Fetch = fetch as unknown as Fetch,
): Promise<InstalledModel[] | null> {
  const asking = { url: joinUrl(baseUrl, "api/tags"), headers: {}, local: true, signal };
  const listed = await requestList(asking, ["models"], ask);
  if (!listed.ok) return null;
  return listed.entries.flatMap((one) => {
    const name = textAt(one, "name");
    const placed = localityOf({ type: "ollama", baseUrl, model: name, declared: true });
    if (!NAME.test(name) || !placed.local || textAt(one, "remote_host") !== "") return [];
    return [{ name, billions: billionsOf(textAt(fieldAt(one, "details"), "parameter_size"), name) }];
  });
}

export type OfferedModels =
  | { readonly ok: true; readonly models: readonly string[] }
  | { readonly ok: false; readonly trouble: ListTrouble };

/** The models that a server of OpenAI's, Anthropic's or Google's kind offers to this key, in its order. */
export async function listOffered(
  address: Omit<ListRequest, "signal">,
  signal: AbortSignal,
  ask: Fetch = fetch as unknown as Fetch,
): Promise<OfferedModels> {
  const listed = await requestList({ ...address, signal }, ["data", "models"], ask);
  if (!listed.ok) return listed;
  const models = listed.entries.flatMap((one) => {
    // Google lists models of every kind.
    const methods = fieldAt(one, "supportedGenerationMethods");
    if (Array.isArray(methods) && !methods.includes("generateContent")) return [];
    const name = textAt(one, "id") || textAt(one, "name").replace(/^models\//, "");
    return NAME.test(name) ? [name] : [];
  });
  // Such a server lists the path of its file.
  const shown = (name: string) => name.slice(name.lastIndexOf("/") + 1);
  return { ok: true, models: answersToAnyName(listed.entries) ? models.map(shown) : models };
}

interface ListRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly local: boolean;
  readonly signal: AbortSignal;
}

type Listed =
  | { readonly ok: true; readonly entries: readonly unknown[] }
  | { readonly ok: false; readonly trouble: ListTrouble };

async function requestList(asked: ListRequest, keys: readonly string[], ask: Fetch): Promise<Listed> {
  const { url, headers, signal } = asked;
  const response = await ask(url, { method: "GET", headers, signal, ...plainly(asked) }).catch(() => null);
  if (response === null) return { ok: false, trouble: { kind: "unreachable" } };
  const { status } = response;
  const text = await response.text().catch(() => "");
  // Google answers 400 to a key that it does not know.
  const refused = status === 401 || status === 403 || (status === 400 && /API_KEY_INVALID/.test(text));
  if (refused) return { ok: false, trouble: { kind: "refused", status } };
  const body = response.ok ? attemptOr(undefined, () => JSON.parse(text)) : undefined;
  const entries = keys.map((key) => fieldAt(body, key)).find(Array.isArray);
  return entries === undefined ? { ok: false, trouble: { kind: "answered", status } } : { ok: true, entries };
}

/** The tokens that the one model of a llama.cpp takes in a request; undefined where the server does not say. */
export async function askWindow(asked: ListRequest): Promise<number | undefined> {
  const init = { method: "GET", ...asked, ...plainly(asked) } as const;
  const answer = await (fetch as unknown as Fetch)(asked.url, init).catch(() => null);
  const body: unknown = answer?.ok ? await answer.json().catch(() => null) : null;
  return countAt(body, "default_generation_settings", "n_ctx") || undefined;
}
