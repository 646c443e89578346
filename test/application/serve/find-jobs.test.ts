import { describe, expect, test } from "bun:test";
import { chatOfJob, findJobs, type JobQuery } from "../../../src/application/fleet/viewer-jobs.ts";
import { storedJob } from "../../infrastructure/store/jobs-kit.ts";

const ANY: JobQuery = { text: "", status: "", chat: "", day: "", path: "", page: 1 };
const dayOf = (iso: string) => iso.slice(0, 10);
const standing = (job: ReturnType<typeof storedJob>) => ({ job, alive: false });
const JOBS = [
  storedJob(1, { request: "Greet by name\nand try it", groupId: "web:operator#a", source: "chat:web" }),
  storedJob(2, { state: "undone", changes: [{ path: "src/cart.ts", kind: "modified" }] }),
  storedJob(3, { createdAt: "2026-03-01T10:00:00.000Z", groupId: "slack:C1:1.2#b", source: "chat:slack" }),
  storedJob(4, { changes: [] }),
].map(standing);

describe("jobs are found", () => {
  const cases: readonly (readonly [string, Partial<JobQuery>, readonly number[]])[] = [
    ["newest first where nothing is asked", {}, [4, 3, 2, 1]],
    ["by words of the request, in any order and case", { text: "TRY greet" }, [1]],
    ["by a part of a path in the search", { text: "cart" }, [2]],
    ["by what became of them", { status: "taken-back" }, [2]],
    ["by no change", { status: "no-change" }, [4]],
    ["by their chat", { chat: "slack:C1:1.2" }, [3]],
    ["by their day", { day: "2026-03-01" }, [3]],
    ["by a file", { path: "cart.ts" }, [2]],
    ["by all of it at once", { path: "cart.ts", status: "applied" }, []],
  ];
  for (const [name, query, expected] of cases)
    test(name, () => {
      const found = findJobs(JOBS, { ...ANY, ...query }, dayOf);
      expect(found.jobs.map(({ job }) => Number(job.jobId.split("_")[1]))).toEqual([...expected]);
      expect(found.chats).toEqual(["slack:C1:1.2", "web:operator"]);
    });

  test("page by page, and a page that is not there is the nearest", () => {
    const many = Array.from({ length: 120 }, (_, n) => standing(storedJob(n)));
    const at = (page: number) => findJobs(many, { ...ANY, page }, dayOf);
    expect([at(1).jobs.length, at(3).jobs.length, at(1).pages, at(1).total]).toEqual([50, 20, 3, 120]);
    expect([at(-4).page, at(99).page]).toEqual([1, 3]);
    expect(at(2).jobs[0]?.job.jobId).toBe("job_69_aaaaaaaa");
  });
});

test("a job of the command line has no chat", () => {
  expect(chatOfJob({ groupId: "group_1_aaaaaaaa", source: "cli" })).toBe("");
});
