import type { texts as en } from "../en/at-start.ts";
import { configurationTexts as configuration } from "../ja-configuration.ts";
import { confinementTexts as confinement } from "../ja-confinement.ts";
import { machineTexts as machine } from "../ja-machine.ts";
import { reportTexts as report } from "../ja-report.ts";
import { workTexts as work } from "../jobs.ja.ts";

/** What a job may have to say, loaded at every start. */
export const texts: typeof en = { confinement, report, work: { ...work, ...machine, ...configuration } };
