// Fails a process that runs tests if something replaced functions of node's assert or test modules.
import assert from "node:assert";
import test from "node:test";

if (process.env.RALPH_TEST_REPORT) {
  const { error } = console;
  const { reallyExit } = process;
  const known = Object.entries({ assert, "assert.strict": assert.strict, test }).map((one) => [...one, { ...one[1] }]);
  process.on("exit", () => {
    for (const [name, owner, then] of known) {
      const key = Object.keys(then).find((one) => owner[one] !== then[one]);
      if (key === undefined) continue;
      error(`${name}.${key} was replaced`);
      reallyExit.call(process, 1);
    }
  });
}
