import { expect, test } from "bun:test";
import { findLiveNames, toPlainPiece } from "../../scripts/plain-pieces.ts";

const NONE: ReadonlySet<string> = new Set();

test("a piece asks for names once and hands its own over by value", () => {
  const text = `// @bun
import{a,b as c}from"./chunk-x1.js";import"./chunk-y2.js";import{join}from"path";var d=()=>import("./chunk-z3.js");function e(){return a(c,join,d)}export{d,e as f};
`;
  expect(toPlainPiece("chunk-me.js", text, NONE)).toBe(`// @bun
var{a:a,b:c}=require("./chunk-x1.js");require("./chunk-y2.js");import{join}from"path";var d=()=>Promise.resolve().then(() => require("./chunk-z3.js"));function e(){return a(c,join,d)}module.exports={d:d,f:e};`);
});

test("a late require names its piece, so that the bundler finds it in its file", () => {
  const text =
    'var late=()=>import.meta.require("./chunk-z3.js"),own=import.meta.require("fs");export{late,own};';
  expect(toPlainPiece("chunk-me.js", text, NONE)).toBe(
    'var late=()=>require("./chunk-z3.js"),own=import.meta.require("fs");module.exports={late:late,own:own};',
  );
});

test("a piece knows where it is loaded from, not where it was built", () => {
  expect(toPlainPiece("chunk-me.js", "var near=open(import.meta.url);export{near};", NONE)).toBe(
    'var near=open(require("url").pathToFileURL(import.meta.path).href);module.exports={near:near};',
  );
});

test("a name that is assigned again is read at each use, on both sides", () => {
  const maker = `var count=0,fixed=1;function next(){count++;let f=(fixed)=>fixed==1;return f}export{count as n,fixed,next};`;
  const live = new Set(findLiveNames("chunk-m1.js", maker));
  expect([...live]).toEqual(["chunk-m1.js:n"]);
  expect(toPlainPiece("chunk-m1.js", maker, live)).toEndWith(
    "module.exports={get n(){return count},fixed:fixed,next:next};",
  );
  // Declared without a value: it gets its own later.
  expect(findLiveNames("chunk-m2.js", "let a,late;function open(){late=1}export{late,open};")).toEqual([
    "chunk-m2.js:late",
  ]);
  const user = `import{n,next}from"./chunk-m1.js";console.log(n,next);`;
  expect(toPlainPiece("chunk-u1.js", user, live)).toBe(user);
});
