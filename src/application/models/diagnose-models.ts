import { priceOf } from "../../domain/models/catalogue.ts";
import { modelMessagesFor } from "../../domain/texts/models.ts";
import type { DoctorCheck, Opened } from "../ports/jobs-workspace.ts";
import type { ModelCheck, ModelRole, Models } from "../ports/models.ts";

/** A busy machine answers late; a local model that is being loaded may take longer still, which is not an error. */
const PATIENCE_MS = 10_000;
const AGENTS: readonly (readonly [ModelRole, agent: string])[] = [
  ["chat", "Mio"],
  ["worker", "Shiro"],
  ["coder1", "Aka"],
  ["coder2", "Ao"],
  ["coder3", "Gin"],
];

const CODERS = ["coder1", "coder2", "coder3"] as const;

/**
 * The models that would answer, and the reasons why the others would not. All are asked at once; none is
 * waited for long.
 */
export async function diagnoseModels(
  models: Models,
  { config, messages }: Pick<Opened, "config" | "messages">,
  patienceMs: number = PATIENCE_MS,
): Promise<DoctorCheck[]> {
  const { doctor } = modelMessagesFor(messages.locale);
  await models.look?.(AbortSignal.timeout(patienceMs));
  const keyless = new Set<ModelRole>();
  const asked = AGENTS.map(async ([role, agent]): Promise<DoctorCheck[]> => {
    const model = models.forRole(role);
    const { provider, model: chosen } = config.roles[role];
    const name = "code" in model ? (chosen ?? config.providers[provider]?.model ?? "?") : model.model;
    const instead = "code" in model ? undefined : model.insteadOf;
    const title = `${doctor.role(role, agent, `${provider} ${name}`)}${instead === undefined ? "" : doctor.insteadOf(instead)}`;
    if ("code" in model && model.code === "no-key") keyless.add(role);
    if ("code" in model) return [toModelCheck(role, title, { ok: false, failure: model })];
    const signal = AbortSignal.timeout(patienceMs);
    const [check, newer = null] = await Promise.all([model.check(signal), model.findNewer?.(signal)]);
    const late = !check.ok && check.failure.code === "aborted";
    const first = toModelCheck(
      role,
      check.ok && newer !== null ? `${title}${doctor.newer(newer)}` : title,
      late
        ? {
            ...check,
            failure: { ...check.failure, message: doctor.checkTimeout(patienceMs / 1000, model.local) },
          }
        : check,
    );
    if (config.budget.daily === null || priceOf(model, config.budget.prices) !== null) return [first];
    const price = {
      name: `price:${role}`,
      ok: false,
      optional: true,
      text: doctor.priceUnknown(model.model),
      remedy: doctor.setPrice(model.model),
    };
    return [first, price];
  });
  const checks = (await Promise.all(asked)).flat();
  return adviseOnce(checks, { keyless, coder: config.roles.default_coder, words: doctor });
}

/**
 * One way on instead of one for each role: a key for any coder is enough, and its model may answer questions too, as a
 * conversation proposes.
 */
function adviseOnce(
  checks: readonly DoctorCheck[],
  about: {
    readonly keyless: ReadonlySet<ModelRole>;
    /** The one that is asked where nobody names another. */
    readonly coder: ModelRole;
    readonly words: ReturnType<typeof modelMessagesFor>["doctor"];
  },
): DoctorCheck[] {
  const { keyless, coder, words } = about;
  const talks = checks.some(({ name, ok }) => ok && (name === "model:chat" || name === "model:worker"));
  const hasCoder = CODERS.some((role) => !keyless.has(role));
  if (!hasCoder && !talks)
    return [
      ...checks.map(({ remedy: _, ...check }) => check),
      { name: "models", ok: false, optional: true, text: words.nothingSetUp, remedy: words.setUp },
    ];
  return checks.map((check) => {
    const { remedy, ...rest } = check;
    const isSpare = CODERS.some(
      (role) => role !== coder && keyless.has(role) && check.name === `model:${role}`,
    );
    if (hasCoder && isSpare) return rest;
    const isTalk = check.name === "model:chat" || check.name === "model:worker";
    return isTalk && hasCoder && remedy !== undefined
      ? { ...rest, remedy: `${remedy}; ${words.cloudToo}` }
      : check;
  });
}

function toModelCheck(role: ModelRole, title: string, check: ModelCheck): DoctorCheck {
  const name = `model:${role}`;
  if (check.ok) return { name, ok: true, text: `${title}: ${check.detail}` };
  const [what = "", ...help] = check.failure.message.split("\n→ ");
  const remedy = check.remedy ?? help[0];
  return {
    name,
    ok: false,
    optional: true,
    text: `${title}: ${what}`,
    ...(remedy !== undefined && { remedy }),
  };
}

/** Why roles that every user meets cannot answer as configured; no server is contacted. */
export function findModelTroubles(
  models: Models,
  coder: ModelRole,
): readonly { readonly role: string; readonly code: string; readonly message: string }[] {
  return (["chat", "worker", coder] as const).flatMap((role) => {
    const model = models.forRole(role);
    return "code" in model ? [{ role, code: model.code, message: model.message }] : [];
  });
}
