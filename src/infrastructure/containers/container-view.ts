import { type Entry, toViewFault, type View, ViewFault } from "../../application/ports/view.ts";
import { ChannelFault, type FileChannel } from "./container-files.ts";

export interface ContainerFiles extends View {
  /** Up to `length` bytes from `offset` on; fewer only at the end of the file. */
  readPart(path: string, offset: number, length: number): Uint8Array;
}

/** The files of a container as any view has them. `onChange` gets each path before it changes. */
export function createContainerView(
  channel: FileChannel,
  onChange: (path: string) => void = () => {},
): ContainerFiles {
  const ask = (
    path: string,
    what: string,
    ...fields: readonly (string | Uint8Array)[]
  ): readonly Buffer[] => {
    try {
      return channel.ask(what, path, ...fields);
    } catch (error) {
      throw channelViewFault(error, path);
    }
  };
  const change = (path: string, what: string, ...fields: readonly (string | Uint8Array)[]): void => {
    onChange(path);
    ask(path, what, ...fields);
  };
  return {
    look: (path) => toViewEntry(ask(path, "look")),
    read: (path) => ask(path, "read", "0", "-1")[0] ?? new Uint8Array(),
    readPart: (path, offset, length) =>
      ask(path, "read", String(offset), String(length))[0] ?? new Uint8Array(),
    write: (path, bytes, mode) => change(path, "write", mode === undefined ? "" : String(mode), bytes),
    makeSymlink: (path, target) => change(path, "link", target),
    makeDirectory: (path) => change(path, "folder"),
    remove: (path) => change(path, "remove"),
    rename(from, to) {
      onChange(to);
      change(from, "rename", to);
    },
    copy(from, to) {
      onChange(to);
      ask(from, "copy", to);
    },
    list: (path) => ask(path, "list").map((name) => name.toString()),
  };
}

function toViewEntry([kind, first, second]: readonly Buffer[]): Entry {
  switch (kind?.toString()) {
    case "file":
      return { kind: "file", mode: Number(first), size: Number(second) };
    case "directory":
      return { kind: "directory", mode: Number(first) };
    case "symlink":
      return { kind: "symlink", target: first?.toString() ?? "" };
    case "missing":
      return { kind: "missing" };
    default:
      return { kind: "other" };
  }
}

function channelViewFault(error: unknown, path: string): ViewFault {
  if (error instanceof ChannelFault) {
    if (error.code === "ENOTFILE") return new ViewFault("not-a-file", path, `not a regular file: ${path}`);
    return toViewFault(Object.assign(new Error(error.message), { code: error.code }), path);
  }
  // A connection that timed out or broke has lost its place in the conversation.
  return new ViewFault("io", path, `the environment's files cannot be reached: ${(error as Error).message}`, {
    cause: error,
  });
}
