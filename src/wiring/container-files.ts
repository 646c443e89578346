import { serveContainerFiles } from "../infrastructure/containers/file-thread.ts";

/** Started as a thread by whoever opens the files of a container. */
serveContainerFiles(globalThis as unknown as Parameters<typeof serveContainerFiles>[0]);
