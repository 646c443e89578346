import { describe, expect, test } from "bun:test";
import { allOrNothing } from "../../../src/application/jobs/matched-edit.ts";
import { type Entry, type View, ViewFault } from "../../../src/application/ports/platform-view.ts";

/** Files, links and folders in a map; as much of a view as several writes need. */
function memoryView(start: Readonly<Record<string, string | null>>) {
  const entries = new Map<string, { text: string; mode: number } | { link: string } | null>();
  for (const [path, text] of Object.entries(start))
    entries.set(path, text === null ? null : { text, mode: 0o640 });
  const look = (path: string): Entry => {
    const found = entries.get(path);
    if (found === undefined) return { kind: "missing" };
    if (found === null) return { kind: "directory", mode: 0o755 };
    return "link" in found
      ? { kind: "symlink", target: found.link }
      : { kind: "file", mode: found.mode, size: found.text.length };
  };
  const view: Pick<View, "look" | "read" | "write" | "remove" | "makeSymlink"> = {
    look,
    read: (path) => Buffer.from((entries.get(path) as { text: string }).text),
    write(path, bytes, mode = 0o644) {
      const parent = path.slice(0, Math.max(0, path.lastIndexOf("/")));
      if (parent !== "" && !entries.has(parent)) entries.set(parent, null);
      entries.set(path, { text: Buffer.from(bytes).toString(), mode });
    },
    makeSymlink: (path, link) => void entries.set(path, { link }),
    remove: (path) => void entries.delete(path),
  };
  return { view: view as View, state: () => Object.fromEntries([...entries].sort()) };
}

const full = () => {
  throw new ViewFault("no-space", "x", "no space left on device: x");
};

describe("several writes of one command", () => {
  test("are all there when none fails", () => {
    const { view, state } = memoryView({ a: "1" });
    allOrNothing(view, ["a", "d/b"], () => {
      view.write("a", Buffer.from("2"), 0o640);
      view.write("d/b", Buffer.from("3"));
    });
    expect(state()).toEqual({ a: { text: "2", mode: 0o640 }, d: null, "d/b": { text: "3", mode: 0o644 } });
  });

  test("leave nothing behind when one fails: files, links, deletions, modes and new folders", () => {
    const { view, state } = memoryView({ a: "1", gone: "2", kept: null });
    view.makeSymlink("link", "a");
    const before = state();
    const write = () => {
      view.write("a", Buffer.from("changed"), 0o777);
      view.remove("gone");
      view.remove("link");
      view.write("link", Buffer.from("a file now"));
      view.write("new/file", Buffer.from("x"));
      full();
    };
    expect(() => allOrNothing(view, ["a", "gone", "link", "new/file", "x"], write)).toThrow(ViewFault);
    expect(state()).toEqual(before);
  });

  test("a single write that fails takes the folder it needed away again", () => {
    const { view, state } = memoryView({});
    const write = () => {
      view.write("d/x", Buffer.from(""));
      view.remove("d/x");
      full();
    };
    expect(() => allOrNothing(view, ["d/x"], write)).toThrow("no space left");
    expect(state()).toEqual({});
  });
});
