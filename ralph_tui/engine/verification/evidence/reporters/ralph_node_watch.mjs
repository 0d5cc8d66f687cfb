// Reports to ralph which file replaced functions of node's assert or test modules.
import assert from "node:assert";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";

const directory = process.env.RALPH_TEST_REPORT;
if (directory) {
  const replaced = [];
  const caller = () => /(?:file:\/\/)?(\/[^\s()]+?):\d+:\d+/.exec(new Error().stack.split("\n")[3] ?? "")?.[1] ?? "";
  const watched = [];
  for (const [owner, name] of [[assert, "assert"], [assert.strict, "assert.strict"], [test, "test"]]) {
    for (const key of Object.keys(owner)) {
      let value = owner[key];
      if (typeof value !== "function") continue;
      const get = () => value;
      const set = (other) => {
        if (other !== value) replaced.push([`${name}.${key}`, caller()]);
        value = other;
      };
      Object.defineProperty(owner, key, { configurable: true, enumerable: true, get, set });
      watched.push([owner, key, get, `${name}.${key}`]);
    }
  }
  process.on("exit", () => {
    for (const [owner, key, get, name] of watched) {
      if (Object.getOwnPropertyDescriptor(owner, key)?.get !== get) replaced.push([name, ""]);
    }
    if (replaced.length > 0) {
      fs.writeFileSync(path.join(directory, `${process.pid}.replaced`), JSON.stringify(replaced));
    }
  });
}
