/**
 * The form in which a model is asked for a change. In: the model, the request, and the files that it is shown. Out: whole
 * files or edits, and the files that the request is about. Invariant: the file that an example names is one of those files,
 * and an example that is copied never changes it.
 */
import { billionsOf } from "../models/catalogue.ts";
import { fileKind, namedFiles } from "./rank-files.ts";

/** `whole`: each changed file in a block of its own. `edits`: the patch format of the model's family. */
export type AnswerForm = "whole" | "edits";

/** Models of fewer parameters, in billions, copy lines for SEARCH badly. Nothing is known of most local names: they count as small. */
const CAPABLE = 12;
/** Characters of a file that a model may be asked to write again. */
const LONGEST_WHOLE = 12_000;

interface AskedModel {
  readonly local: boolean;
  readonly model: string;
}

export function isSmallModel({ local, model }: AskedModel): boolean {
  return local && (billionsOf("", model) ?? 0) < CAPABLE;
}

/** `longest`: characters of the longest file that the request is about. `varied`: how many tries failed and were asked otherwise. */
export function chooseAnswerForm(model: AskedModel, longest: number, varied = 0): AnswerForm {
  const isWhole = isSmallModel(model) || (model.local && varied > 0);
  return isWhole && longest <= LONGEST_WHOLE ? "whole" : "edits";
}

/** The files that a request is about: those that it names and that are no tests, else the only source that is shown. */
export function filesInQuestion(request: string, shown: readonly string[]): readonly string[] {
  const named = namedFiles(request, shown).map(({ path }) => path);
  const changeable = named.filter((path) => !isTestFile(path));
  if (changeable.length > 0) return changeable;
  const sources = shown.filter((path) => fileKind(path) === "source");
  return sources.length === 1 ? sources : named;
}

/** The existing tests that a request for a change of other files names: they say what is wanted, and are right. */
export interface GoalTests {
  readonly tests: readonly string[];
  /** The files that are to change. */
  readonly only: readonly string[];
}

/** Null if the request names no test, or nothing but tests. */
export function readGoalTests(request: string, shown: readonly string[]): GoalTests | null {
  const only = filesInQuestion(request, shown);
  const tests = namedFiles(request, shown).flatMap(({ path }) => (isTestFile(path) ? [path] : []));
  return tests.length === 0 || only.some(isTestFile) ? null : { tests, only };
}

export function isTestFile(path: string): boolean {
  return fileKind(path) === "test";
}
