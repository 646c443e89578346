/** One small patch in each of the five formats; they belong together and work in an empty folder, in this order. */
export const PATCH_EXAMPLES: Readonly<
  Record<"json" | "markdown" | "diff" | "v4a" | "search-replace", string>
> = {
  json: `[
  {"type": "file_edit", "action": "create", "target": "hello.txt", "content": "hello\\n"},
  {"type": "shell_command", "action": "run", "target": "wc -c hello.txt"}
]`,
  markdown: `## Greet in two languages

\`\`\`text:hello.txt
hello
こんにちは
\`\`\`

\`\`\`bash
cat hello.txt
\`\`\`
`,
  diff: `--- a/hello.txt
+++ b/hello.txt
@@ -1,2 +1,3 @@
 hello
 こんにちは
+bonjour
`,
  v4a: `*** Begin Patch
*** Update File: hello.txt
@@
 hello
-こんにちは
+こんばんは
 bonjour
*** End Patch
`,
  "search-replace": `hello.txt
<<<<<<< SEARCH
bonjour
=======
bonsoir
>>>>>>> REPLACE
`,
};
