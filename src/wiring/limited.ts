import { serveLimited } from "../infrastructure/work/limited/limited-worker.ts";

/** Started as a thread by a job that is limited. */
serveLimited(globalThis as unknown as Parameters<typeof serveLimited>[0]);
