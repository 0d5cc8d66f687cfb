// Reports the outcomes of `node --test` to ralph as JSON lines, in a file of each process.
import { appendFileSync, readFileSync } from "node:fs";
import { basename } from "node:path";

export default async function* report(source) {
  const file = `${process.env.RALPH_TEST_REPORT}/node-${process.pid}.jsonl`;
  const write = (value) => appendFileSync(file, JSON.stringify(value) + "\n");
  write({ kind: "start", runner: "node --test" });
  for await (const event of source) {
    if (event.type !== "test:pass" && event.type !== "test:fail") continue;
    const data = event.data;
    if (data.details?.type === "suite") continue;
    const skipped = data.skip !== undefined && data.skip !== false;
    const todo = data.todo !== undefined && data.todo !== false;
    const passed = event.type === "test:pass";
    // A file is a test of its own if it ended before its tests.
    const ended = data.file && basename(data.name) === basename(data.file) && readFileSync(data.file).includes("node:test");
    const outcome = skipped ? "skipped" : todo ? (passed ? "xpassed" : "xfailed") : passed && !ended ? "passed" : "failed";
    write({ kind: "test", id: `${data.file ?? ""}::${data.name}`, outcome });
  }
  write({ kind: "end", status: 0 });
}
