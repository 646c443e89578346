import { texts as configuration } from "./configuration.ts";
import { texts as confinement } from "./confinement.ts";
import { texts as machine } from "./machine.ts";
import { texts as report } from "./report.ts";
import { texts as work } from "./work.ts";

/** What a job may have to say, loaded at every start. */
export const texts = { confinement, report, work: { ...work, ...machine, ...configuration } };
