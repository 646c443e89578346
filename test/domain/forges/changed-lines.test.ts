import { expect, test } from "bun:test";
import { changedLines, isChangedNear } from "../../../src/domain/patch/parse-patch.ts";

const PATCH = `diff --git a/src/a.ts b/src/a.ts
index 1..2 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -8,4 +8,4 @@ function x() {
 8
 9
--- a/evil.ts
+10
 11
@@ -40,0 +41,1 @@
+new
diff --git "a/\\346\\227\\245 x.ts" "b/\\346\\227\\245 x.ts"
--- "a/\\346\\227\\245 x.ts"
+++ "b/\\346\\227\\245 x.ts"
@@ -1 +1 @@
-a
\\ No newline at end of file
+b
diff --git a/new.ts b/new.ts
new file mode 100644
--- /dev/null
+++ b/new.ts
@@ -0,0 +1 @@
+x
`;

test("the lines of a patch are those of the files before it, and a line that only looks like a header is not one", () => {
  const changed = changedLines(Buffer.from(PATCH));
  expect([...changed].map(([path, lines]) => [path, [...lines]])).toEqual([
    ["src/a.ts", [10, 11, 41]],
    ["日 x.ts", [1, 2]],
  ]);
});

test("near is within three lines of the same file", () => {
  const changed = changedLines(Buffer.from(PATCH));
  const near = [6, 7, 14, 15, 38, 44, 45].map((line) => isChangedNear(changed, "src/a.ts", line));
  expect(near).toEqual([false, true, true, false, true, true, false]);
  expect(isChangedNear(changed, "src/b.ts", 10)).toBe(false);
});
