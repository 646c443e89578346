import { configurationTexts as configuration } from "../configuration.ts";
import { confinementTexts as confinement } from "../confinement.ts";
import { machineTexts as machine } from "../machine.ts";
import { reportTexts as report } from "../report.ts";
import { workTexts as work } from "../jobs.en.ts";

/** What a job may have to say, loaded at every start. */
export const texts = { confinement, report, work: { ...work, ...machine, ...configuration } };
