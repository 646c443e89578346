import { localityOf } from "../../domain/models/locality.ts";
import { billionsOf, type InstalledModel } from "../../domain/models/rank-installed.ts";
import { fieldAt, listAt, textAt } from "./json-fields.ts";
import type { Fetch } from "./model-settings.ts";
import { joinUrl } from "./wire.ts";

/** What a model's name is made of; anything else is not shown and not written anywhere. */
const NAME = /^[\w./:-]{1,200}$/;

/** The models that an Ollama has on its own machine, or null when none answers. */
export async function listModels(
  baseUrl: string,
  signal: AbortSignal,
  ask: Fetch = fetch as unknown as Fetch,
): Promise<InstalledModel[] | null> {
  const listed = await requestList(joinUrl(baseUrl, "api/tags"), "models", { signal, proxy: false }, ask);
  return (
    listed?.flatMap((one) => {
      const name = textAt(one, "name");
      const placed = localityOf({ type: "ollama", baseUrl, model: name, declared: true });
      if (!NAME.test(name) || !placed.local || textAt(one, "remote_host") !== "") return [];
      return [{ name, billions: billionsOf(textAt(fieldAt(one, "details"), "parameter_size"), name) }];
    }) ?? null
  );
}

/** The models that a server of OpenAI's or Anthropic's kind offers to this key, in its order; null when it does not tell. */
export async function listOffered(
  address: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly local: boolean;
  },
  signal: AbortSignal,
  ask: Fetch = fetch as unknown as Fetch,
): Promise<string[] | null> {
  const { url, headers, local } = address;
  const listed = await requestList(url, "data", { signal, headers, ...(local && { proxy: false }) }, ask);
  return listed?.map((one) => textAt(one, "id")).filter((name) => NAME.test(name)) ?? null;
}

interface ListRequest {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  readonly proxy?: false;
}

async function requestList(url: string, key: string, asking: ListRequest, ask: Fetch) {
  try {
    const response = await ask(url, {
      method: "GET",
      headers: {},
      redirect: "manual",
      timeout: false,
      ...asking,
    });
    return response.ok ? listAt(JSON.parse(await response.text()), key) : null;
  } catch {
    return null;
  }
}
