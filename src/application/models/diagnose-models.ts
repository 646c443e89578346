import { priceOf } from "../../domain/models/catalogue.ts";
import type { AnswerForm } from "../../domain/models/model-facts.ts";
import { modelMessagesFor } from "../../domain/texts/models.ts";
import type { DoctorCheck, OpenedWorkspace } from "../ports/jobs-workspace.ts";
import type { FormCounts, ModelCheck, ModelRecord, ModelRole, Models } from "../ports/models.ts";

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

/** Which models would answer, and why the others would not. All are asked at once; none is waited for long. */
export async function diagnoseModels(
  models: Models,
  { config, messages }: Pick<OpenedWorkspace, "config" | "messages">,
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
  const coder = models.forRole(config.roles.default_coder);
  const canTalk = !("code" in coder) && !coder.local;
  return adviseOnce(checks, keyless, { role: config.roles.default_coder, canTalk }, doctor);
}

/** One way on instead of one for each role: any coder's key is enough, and a cloud model of the default coder may answer questions too. */
function adviseOnce(
  checks: readonly DoctorCheck[],
  keyless: ReadonlySet<ModelRole>,
  coder: { readonly role: ModelRole; readonly canTalk: boolean },
  words: ReturnType<typeof modelMessagesFor>["doctor"],
): DoctorCheck[] {
  const isTalk = ({ name }: DoctorCheck) => name === "model:chat" || name === "model:worker";
  const hasCoder = CODERS.some((role) => !keyless.has(role));
  const isUnset = !hasCoder && !checks.some((check) => check.ok && isTalk(check));
  const spare = new Set([...keyless].flatMap((role) => (role === coder.role ? [] : [`model:${role}`])));
  const advised = checks.map(({ remedy, ...check }): DoctorCheck => {
    if (remedy === undefined || isUnset || (hasCoder && spare.has(check.name))) return check;
    return { ...check, remedy: coder.canTalk && isTalk(check) ? `${remedy}; ${words.cloudToo}` : remedy };
  });
  const setUp = { name: "models", ok: false, optional: true, text: words.nothingSetUp, remedy: words.setUp };
  return isUnset ? [...advised, setUp] : advised;
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

/** The records of local models' answers, a line each, the one that was asked last first. */
export function describeRecords(
  records: Readonly<Record<string, ModelRecord>>,
  { messages }: Pick<OpenedWorkspace, "messages">,
): DoctorCheck[] {
  const { doctor } = modelMessagesFor(messages.locale);
  return Object.entries(records)
    .sort(([, one], [, other]) => (one.at < other.at ? 1 : -1))
    .slice(0, MOST_RECORDS)
    .map(([name, { forms, reads, writes }]) => ({
      name: `seen:${name}`,
      ok: true,
      text: doctor.seen(
        name,
        Object.entries(forms) as [AnswerForm, FormCounts][],
        Math.round(reads),
        Math.round(writes),
      ),
    }));
}

const MOST_RECORDS = 5;

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
