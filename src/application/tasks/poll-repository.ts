import { itemUrl } from "../../domain/forges/forge-items.ts";
import { commentDeliveryId, openedDeliveryId } from "../../domain/forges/said-id.ts";
import { type ForgeEvent, readWantedAction } from "../../domain/forges/trigger.ts";
import type { ForgeSaid, ForgeUser } from "../ports/forges.ts";
import { type IntakeDeps, type IntakeOutcome, takeInEvent } from "./intake.ts";

export interface Poll {
  readonly repository: string;
  /** Mentions and orders from before are not looked at. */
  readonly since: Date;
  readonly signal: AbortSignal;
}

/**
 * Looks once for work in a repository: items that carry the label or are assigned to the bot, each asked for by
 * somebody, whom the forge names, and what was said to the bot. The same request is taken in once, however often, and
 * by whichever way, it is seen.
 */
export async function pollRepository(
  parts: IntakeDeps,
  { repository, since, signal }: Poll,
): Promise<readonly IntakeOutcome[]> {
  const { forge, label, log } = parts;
  const failed = (why: string): IntakeOutcome => {
    log.warn("solve", "solve.poll_failed", "solve.poll_failed", { repository, error: why });
    return { did: "failed", why };
  };
  const bot = await forge.whoAmI(signal);
  if (!bot.ok) return [failed(bot.failure.message)];
  const wanted = { label, assignee: bot.value.login };
  const work = await forge.listWork(repository, wanted, signal);
  if (!work.ok) return [failed(work.failure.message)];
  const taken: IntakeOutcome[] = [];
  for (const { ref } of work.value) {
    const request = await forge.findRequest(ref, wanted, signal);
    if (!request.ok) taken.push(failed(`${itemUrl(ref)}: ${request.failure.message}`));
    else if (request.value !== null) {
      const { id, actor, kind } = request.value;
      const what = kind === "labeled" ? { label } : { assignee: bot.value.login };
      taken.push(await takeInEvent(parts, { deliveryId: id, item: ref, event: { kind, actor, ...what } }));
    }
  }
  const said = await forge.listSaid(repository, since, signal);
  if (!said.ok) return [...taken, failed(said.failure.message)];
  for (const each of said.value) {
    const event = toForgeEvent(each);
    if (!isForBot(event, bot.value, label)) continue;
    const { ref, commentId } = each;
    const deliveryId = commentId === null ? openedDeliveryId(ref) : commentDeliveryId(ref, commentId);
    taken.push(await takeInEvent(parts, { deliveryId, item: ref, event }));
  }
  return taken;
}

function toForgeEvent({ commentId, author, body }: ForgeSaid): ForgeEvent {
  return { kind: commentId === null ? "opened" : "commented", actor: author, text: body };
}

/** Whether it needs a look at who said it: what is said to a running task it reads by itself. */
function isForBot(event: ForgeEvent, bot: ForgeUser, label: string): boolean {
  const wanted = readWantedAction(event, { bot, label }).do;
  return event.actor !== "" && wanted !== "nothing" && wanted !== "tell";
}
