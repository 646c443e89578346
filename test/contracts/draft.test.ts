import { requirePart } from "../require.ts";
import { describeDrafts } from "./draft.contract.ts";

if (requirePart("bwrap"))
  describeDrafts("in an overlay", {
    PICOCLAW_WORKER_TRANSACTION: "overlay",
    PICOCLAW_WORKER_CONFINE: "on",
  });

describeDrafts("in a copy", { PICOCLAW_WORKER_TRANSACTION: "copy", PICOCLAW_WORKER_CONFINE: "off" });

if (requirePart("bwrap"))
  describeDrafts("in a confined copy", {
    PICOCLAW_WORKER_TRANSACTION: "copy",
    PICOCLAW_WORKER_CONFINE: "on",
  });
