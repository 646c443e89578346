import { localityOf } from "../../domain/models/locality.ts";
import { listAt, textAt } from "./json.ts";
import type { Fetch } from "./settings.ts";
import { joinUrl } from "./wire.ts";

/** What a model's name is made of; anything else is not shown and not written anywhere. */
const NAME = /^[\w./:-]{1,200}$/;

/** The models that an Ollama has on its own machine, or null when none answers. */
export async function listModels(
  baseUrl: string,
  signal: AbortSignal,
  ask: Fetch = fetch as unknown as Fetch,
): Promise<string[] | null> {
  try {
    const response = await ask(joinUrl(baseUrl, "api/tags"), {
      method: "GET",
      headers: {},
      signal,
      proxy: false,
      redirect: "manual",
      timeout: false,
    });
    if (!response.ok) return null;
    return listAt(JSON.parse(await response.text()), "models").flatMap((one) => {
      const name = textAt(one, "name");
      const placed = localityOf({ type: "ollama", baseUrl, model: name, declared: true });
      return NAME.test(name) && placed.local && textAt(one, "remote_host") === "" ? [name] : [];
    });
  } catch {
    return null;
  }
}
