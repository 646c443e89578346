import type { texts as en } from "../en/at-start.ts";
import { configurationTexts as configuration } from "./configuration.ts";
import { confinementTexts as confinement } from "./confinement.ts";
import { machineTexts as machine } from "./machine.ts";
import { reportTexts as report } from "./report.ts";
import { workTexts as work } from "./work.ts";

/** What a job may have to say, loaded at every start. */
export const texts: typeof en = { confinement, report, work: { ...work, ...machine, ...configuration } };
