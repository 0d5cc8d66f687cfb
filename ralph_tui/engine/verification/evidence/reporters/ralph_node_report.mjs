// Reports the outcomes of `node --test` to ralph as JSON lines, in a file of each process.
import { appendFileSync } from "node:fs";

export default async function* report(source) {
  const file = `${process.env.RALPH_TEST_REPORT}/node-${process.pid}.jsonl`;
  const write = (value) => appendFileSync(file, JSON.stringify(value) + "\n");
  write({ kind: "runner", runner: "node --test" });
  write({ kind: "start", worker: "" });
  for await (const event of source) {
    if (event.type !== "test:pass" && event.type !== "test:fail") continue;
    const data = event.data;
    if (data.details?.type === "suite") continue;
    const skipped = data.skip !== undefined && data.skip !== false;
    const todo = data.todo !== undefined && data.todo !== false;
    const passed = event.type === "test:pass";
    write({
      kind: "test", id: `${data.file ?? ""}::${data.name}`, when: "call",
      outcome: skipped ? "skipped" : passed ? "passed" : todo ? "skipped" : "failed",
      xfail: todo && !skipped,
    });
  }
  write({ kind: "end", status: -1, worker: "" });
}
