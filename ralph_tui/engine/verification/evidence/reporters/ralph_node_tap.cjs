// Reports to ralph, as TAP, the tests of mocha, and whether a script of the project that node runs ended well.
"use strict";
const assert = require("node:assert");
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const { isMainThread } = require("node:worker_threads");

const directory = process.env.RALPH_TEST_REPORT;
const inner = process.env.RALPH_TEST_INNER; // a process that tests start must not report
const given = process.argv[1] ?? "";
const installed = (file) => /[\\/]node_modules[\\/]/.test(file);
const own = (file) => path.isAbsolute(file) && file.startsWith(process.cwd() + path.sep) && !installed(file);
if (directory && isMainThread && !inner) {
  const lines = [];
  const test = (passed, name, directive = "") =>
    lines.push(`${passed ? "" : "not "}ok - ${String(name).replace(/[\n#\\]/g, " ")}${directive}`);
  const bail = (why) => lines.push(`Bail out! ${why}`);
  const write = fs.writeFileSync;
  const begin = () => {
    process.env.RALPH_TEST_INNER = "1";
  };

  let raised = false;
  process.on("uncaughtExceptionMonitor", () => {
    raised = true;
  });
  const caller = () => {
    const { prepareStackTrace, stackTraceLimit } = Error;
    Error.stackTraceLimit = Infinity;
    Error.prepareStackTrace = (_, sites) => sites;
    const sites = new Error().stack;
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
    const names = sites.slice(2).map((site) => (site.getFileName() ?? "").replace(/^file:\/\//, ""));
    return names.find(own) ?? "";
  };
  const main = () => require.main?.filename ?? given;
  for (const name of ["exit", "reallyExit"]) {
    const real = process[name];
    process[name] = function (...code) {
      const by = caller();
      if (by && by !== main() && by !== given) bail(`${by} ended the process`);
      return Reflect.apply(real, process, code);
    };
  }
  const known = [assert, assert.strict].map((one) => [one, { ...one }]);

  let ended = false;
  const scripted = own(given) || own(path.resolve(given));
  process.on("exit", (code) => {
    if (known.some(([one, then]) => Object.keys(then).some((key) => one[key] !== then[key]))) {
      bail("assert was replaced");
    }
    if (scripted && !ended && lines.length === 0) test(!code && !raised, `${path.relative(process.cwd(), path.resolve(given))} (script)`);
    if (lines.length === 0) return;
    if (!scripted && !ended) bail("the tests did not end");
    const count = lines.filter((line) => /^(not )?ok/.test(line)).length;
    write(path.join(directory, `${process.pid}.tap`), `${lines.join("\n")}\n1..${count}\n`, { flag: "wx", mode: 0o600 });
  });
  if (scripted) begin();

  const load = Module._extensions[".js"];
  Module._extensions[".js"] = function (module, file) {
    Reflect.apply(load, this, [module, file]);
    if (own(file)) begin();
    if (!/[\\/]mocha[\\/]lib[\\/]runner\.js$/.test(file)) return;
    const emit = module.exports.prototype.emit;
    module.exports.prototype.emit = function (event, one, ...rest) {
      if (event === "pass") test(true, one.fullTitle());
      if (event === "fail") test(false, one.fullTitle());
      if (event === "pending") test(true, one.fullTitle(), " # SKIP");
      if (event === "end") ended = true;
      return Reflect.apply(emit, this, [event, one, ...rest]);
    };
  };
}
