import { serveLimited } from "../infrastructure/sandbox/limited-worker.ts";

/** Started as a thread by a job that is limited. */
serveLimited(globalThis as unknown as Parameters<typeof serveLimited>[0]);
