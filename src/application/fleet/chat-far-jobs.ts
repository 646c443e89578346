import type { FarJobs } from "../chat/far-jobs.ts";
import { roleInChat, type Viewer } from "../serve/viewer.ts";
import type { OwnJobs, ViewerJobs } from "./viewer-jobs.ts";
import { type ActionFacts, discardFacts, orderFacts } from "../jobs/action-report.ts";

export interface ChatFarJobsDeps {
  /** The jobs of this workspace, which are not far. */
  readonly own: Pick<OwnJobs, "has">;
  /** The jobs of every machine. */
  readonly all: Pick<ViewerJobs, "read" | "takeBack" | "applyPreview" | "discard" | "differences">;
}

/** Jobs of other machines for whoever speaks in a chat: by the same orders as from the console. */
export function createChatFarJobs({ own, all }: ChatFarJobsDeps): FarJobs {
  async function discard(viewer: Viewer, jobId: string, machine: string): Promise<ActionFacts> {
    const status = await all.discard(viewer, jobId);
    switch (status) {
      case "machine-away":
      case "machine-gone":
      case "unsettled":
        return orderFacts("discard", jobId, { code: status, machine });
      default:
        return discardFacts({ root: "" }, jobId, { status });
    }
  }

  return async ({ channel, userId }, jobId) => {
    if (own.has(jobId)) return null;
    const viewer: Viewer = { channel, userId, role: roleInChat({ channel, userId }), scopes: [] };
    const found = await all.read(viewer, jobId);
    if (found?.machine === undefined) return null;
    const machine = found.machine.name;
    return {
      job: found.job,
      machine,
      act(action, force = false) {
        switch (action) {
          case "undo":
          case "redo":
            return all.takeBack(viewer, jobId, action, force);
          case "apply":
            return all.applyPreview(viewer, jobId);
          case "discard":
            return discard(viewer, jobId, machine);
        }
      },
      differences: () => all.differences(viewer, jobId),
    };
  };
}
