import type { ChosenModel, ModelChoice } from "../../domain/setup/choice.ts";
import { offeredFor } from "../../domain/setup/choice.ts";
import type { ChoiceTestResult, OpenedSetUp } from "../ports/setup.ts";

type OpenSetup = Extract<OpenedSetUp, { ok: true }>;

export interface SetupStepsDeps {
  /** Looks around anew. */
  readonly open: () => Promise<OpenedSetUp>;
  /** Null, or why the server goes on as it was. */
  readonly reload: () => Promise<string | null>;
  readonly onTrouble: (error: unknown) => void;
}

/** What became of the last choice. A model may have to be loaded first, so nobody waits for it in a request. */
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

/** The first configuration, step by step, for a page. */
export interface SetUpSteps {
  found(): Promise<OpenedSetUp>;
  lookAgain(): void;
  trial(): ChoiceTrial;
  /** Tries what was chosen, and writes it if all of it answers. False while another is being tried. */
  begin(choice: ModelChoice): boolean;
}

export function createSetUpSteps({ open, reload, onTrouble }: SetupStepsDeps): SetUpSteps {
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
    lookAgain: () => {
      held.found = null;
    },
    trial: () => held.trial,
    begin(choice) {
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

/** One of those that are offered, by `provider/model`; null: none of them. */
export function findOfferedModel(
  opened: OpenSetup,
  purpose: "talk" | "code",
  name: string,
): ChosenModel | null {
  return offeredFor(opened.found, purpose).find((one) => modelNameOf(one) === name) ?? null;
}

export const modelNameOf = ({ provider, model }: ChosenModel): string => `${provider}/${model}`;
