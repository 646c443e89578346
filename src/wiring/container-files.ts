import { serveContainerFiles } from "../infrastructure/containers/file-thread.ts";
import { endThreadOnFault } from "../infrastructure/platform/process-faults.ts";

/** Started as a thread by the part that opens the files of a container. */
endThreadOnFault("container-files");
serveContainerFiles(globalThis as unknown as Parameters<typeof serveContainerFiles>[0]);
