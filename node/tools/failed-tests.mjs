// A reporter for node:test that writes a JSON line per failed test.
import { inspect } from "node:util";

export default async function* failedTests(events) {
  for await (const { type, data } of events) {
    if (type !== "test:fail" || data.todo !== undefined || data.skip !== undefined) continue;
    const { error } = data.details;
    if (error?.failureType === "subtestsFailed") continue; // the subtests are reported
    const { file, line, name } = data;
    yield `${JSON.stringify({ file, line, name, message: inspect(error?.cause ?? error) })}\n`;
  }
}
