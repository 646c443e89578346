import { itemUrl } from "../../domain/forges/item-url.ts";
import { type IntakeParts, intake, type Taken } from "./intake.ts";

/**
 * Looks once for work in a repository: items that carry the label or are assigned to the bot, each asked for by
 * somebody, whom the forge names. The same request is taken in once, however often it is seen.
 */
export async function pollRepository(
  parts: IntakeParts,
  repository: string,
  signal: AbortSignal,
): Promise<readonly Taken[]> {
  const { forge, label, log } = parts;
  const failed = (why: string): Taken => {
    log.warn("solve", "solve.poll_failed", "solve.poll_failed", { repository, error: why });
    return { did: "failed", why };
  };
  const bot = await forge.whoAmI(signal);
  if (!bot.ok) return [failed(bot.failure.message)];
  const wanted = { label, assignee: bot.value.login };
  const work = await forge.listWork(repository, wanted, signal);
  if (!work.ok) return [failed(work.failure.message)];
  const taken: Taken[] = [];
  for (const { ref } of work.value) {
    const request = await forge.findRequest(ref, wanted, signal);
    if (!request.ok) taken.push(failed(`${itemUrl(ref)}: ${request.failure.message}`));
    else if (request.value !== null) {
      const { id, actor, kind } = request.value;
      const what = kind === "labeled" ? { label } : { assignee: bot.value.login };
      taken.push(await intake(parts, { deliveryId: id, item: ref, event: { kind, actor, ...what } }));
    }
  }
  return taken;
}
