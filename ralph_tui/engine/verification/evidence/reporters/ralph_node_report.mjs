// Reports the outcomes of `node --test` to ralph as JSON lines.
export default async function* report(source) {
  const line = (value) => JSON.stringify(value) + "\n";
  yield line({ kind: "runner", runner: "node --test" });
  yield line({ kind: "start", worker: "" });
  for await (const event of source) {
    if (event.type !== "test:pass" && event.type !== "test:fail") continue;
    const data = event.data;
    if (data.details?.type === "suite") continue;
    const skipped = data.skip !== undefined && data.skip !== false;
    const todo = data.todo !== undefined && data.todo !== false;
    const passed = event.type === "test:pass";
    yield line({
      kind: "test", id: `${data.file ?? ""}::${data.name}`, when: "call",
      outcome: skipped ? "skipped" : passed ? "passed" : todo ? "skipped" : "failed",
      xfail: todo && !skipped,
    });
  }
  yield line({ kind: "end", status: -1, worker: "" });
}
