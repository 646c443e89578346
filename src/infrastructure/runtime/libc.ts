/** What PicoClaw asks of the operating system beyond Node's API. Every function degrades to `unsupported`. */
export { flock, type LockMode, type LockResult, type LockWait, tryFlock, unlockFlock } from "./file-lock.ts";
export type { LibcFailure, LibcResult } from "./libc-binding.ts";
export { reapChild, setChildSubreaper, withInheritedTag } from "./process-control.ts";
export { AT_FDCWD, renameExchange, renameNoReplace } from "./rename.ts";
export { syncfs } from "./sync.ts";
export { type CopiedXattrs, copyXattrs, getXattr, listXattrs, removeXattr, setXattrFd } from "./xattr.ts";
