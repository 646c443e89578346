import type { View } from "./view.ts";

/** No symlink is followed in any component. Throws `ViewFault`. */
export interface WorkspaceFiles extends Pick<View, "look" | "list" | "read"> {
  /** Up to `length` bytes from `offset` on; fewer only at the end of the file. */
  readPart(path: string, offset: number, length: number): Uint8Array;
}
