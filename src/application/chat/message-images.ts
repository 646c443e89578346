import type { LoadedImage } from "../ports/chat.ts";
import type { Model, ModelImage } from "../ports/models.ts";
import type { ChatDeps, ChatTurn } from "./chat-turn.ts";
import { NOTHING_RECALLED, type RecalledImages } from "./exchanges.ts";

const MOST_RECALLED = 4;

/** The conversation's last images, for a model known to accept images: another might refuse every message after the first. */
export async function recallImages(
  { images }: Pick<ChatDeps, "images">,
  { sessionKey, history }: Pick<ChatTurn, "sessionKey" | "history">,
  model: Pick<Model, "seesImages">,
): Promise<RecalledImages> {
  if (model.seesImages !== true || history.length === 0) return NOTHING_RECALLED;
  const groups = history.flatMap(({ groupId }) => (groupId === null ? [] : [groupId]));
  const found = await images.ofGroups(sessionKey, groups, MOST_RECALLED);
  const byGroup = Map.groupBy(found, ({ groupId }) => groupId);
  return new Map([...byGroup].map(([group, ofGroup]) => [group, ofGroup.map(toModelImage)]));
}

export function imagesPart(images: readonly LoadedImage[]): { readonly images?: readonly ModelImage[] } {
  if (images.length === 0) return {};
  return { images: images.map(toModelImage) };
}

function toModelImage({ mediaType, data }: LoadedImage): ModelImage {
  return { mediaType, data };
}
