import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { call, codeOf, createMcp, type Mcp } from "./mcp-kit.ts";

let mcp: Mcp;
beforeEach(() => {
  mcp = createMcp();
  mcp.write("a.txt", "one\n");
});
afterEach(() => mcp.remove());

const read = { path: "a.txt" };

describe("a client that offers roots", () => {
  test.each<[string, (workspace: string) => string[]]>([
    ["the workspace itself", (workspace) => [workspace]],
    ["a folder around it, among others", (workspace) => ["/nowhere", dirname(workspace)]],
    ["an empty list, from a client without an open folder", () => []],
  ])("lends the tools: %s", async (_, roots) => {
    const client = await mcp.stdio({ roots: roots(mcp.workspace) });
    expect((await call(client, "read_file", read)).isError).toBeUndefined();
    expect((await client.listResources()).resources.length).toBe(1);
  });

  test("may know the workspace by a link", async () => {
    const link = join(mcp.folder, "link");
    symlinkSync(mcp.workspace, link);
    const client = await mcp.stdio({ roots: [link] });
    expect((await call(client, "read_file", read)).isError).toBeUndefined();
  });

  test.each<[string, (workspace: string) => string[]]>([
    ["a folder that is not there", () => ["/nowhere"]],
    ["a folder beside it", (workspace) => [join(dirname(workspace), "user")]],
    ["a folder whose name begins like it", (workspace) => [workspace.slice(0, -1)]],
    ["a folder inside of it", (workspace) => [join(workspace, "inner")]],
  ])("denies every tool, and the jobs, with the way out: %s", async (_, roots) => {
    mkdirSync(join(mcp.workspace, "inner"));
    mkdirSync(mcp.workspace.slice(0, -1));
    const client = await mcp.stdio({ roots: roots(mcp.workspace) });
    const result = await call(client, "read_file", read);
    expect([result.isError, codeOf(result)]).toEqual([true, "OUTSIDE_ROOTS"]);
    expect(result.structuredContent?.message).toContain("--workspace");
    expect((await call(client, "write_file", { path: "b", content: "" })).isError).toBe(true);
    expect(client.readResource({ uri: "picoclaw://jobs" })).rejects.toThrow("roots");
    expect(mcp.tree()).toEqual({ "a.txt": "one\n" });
  });

  test("does not limit a workspace that was named by hand", async () => {
    const client = await mcp.stdio({ roots: ["/nowhere"], args: ["--workspace", mcp.workspace] });
    expect((await call(client, "read_file", read)).isError).toBeUndefined();
  });

  test("is asked again when it says that they changed", async () => {
    const roots = ["/nowhere"];
    const client = await mcp.stdio({ roots });
    expect((await call(client, "read_file", read)).isError).toBe(true);
    roots.push(mcp.workspace);
    await client.sendRootsListChanged();
    expect((await call(client, "read_file", read)).isError).toBeUndefined();
  });

  test("is asked over HTTP as well", async () => {
    const http = await mcp.http();
    const [inside, outside] = [await http.connect([mcp.workspace]), await http.connect([mcp.home])];
    expect((await call(inside, "read_file", read)).isError).toBeUndefined();
    expect(codeOf(await call(outside, "read_file", read))).toBe("OUTSIDE_ROOTS");
  });
});
