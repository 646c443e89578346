import type { ConfigProblem } from "../config/config-problem.ts";
import type { Locale } from "../texts/messages.ts";
import type { Found } from "./found.ts";

/** What `init` found and wrote. */
export type InitOutcome =
  | {
      readonly ok: true;
      readonly locale: Locale;
      readonly file: string;
      /** False: it was there already, and is as it was. */
      readonly written: boolean;
      readonly found: Found;
      /** A model that the configuration asks Ollama for in vain. */
      readonly missingModel: string | null;
      /** Whether Mio has a model, and whether the default coder has. */
      readonly talks: boolean;
      readonly codes: boolean;
    }
  | { readonly ok: false; readonly locale: Locale; readonly problems: readonly ConfigProblem[] };
