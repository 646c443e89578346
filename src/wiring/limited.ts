import { endThreadOnFault } from "../infrastructure/platform/process-faults.ts";
import { serveLimited } from "../infrastructure/sandbox/limited-worker.ts";

/** Started as a thread by a job that is limited. */
endThreadOnFault("limited");
serveLimited(globalThis as unknown as Parameters<typeof serveLimited>[0]);
