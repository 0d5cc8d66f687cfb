// Reports to ralph whether the script of a check reached its end, or which file ended the process.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { fileURLToPath } = require("node:url");
const { isMainThread } = require("node:worker_threads");

const directory = process.env.RALPH_TEST_REPORT;
const wanted = process.env.RALPH_TEST_SCRIPT;
const inline = wanted === "-e" && process.execArgv.some((one) => one === "-e" || one === "--eval");
const given = inline ? wanted : (process.argv[1] ?? "");
const ours = directory && wanted && isMainThread && (given === wanted || given.endsWith(`/${wanted}`));
if (ours) {
  delete process.env.RALPH_TEST_SCRIPT; // processes that the script starts must not report
  const file = fs.openSync(path.join(directory, `${process.pid}-node.script`), "ax", 0o600);
  const write = fs.writeSync;
  const tell = (line) => write(file, `${JSON.stringify(line)}\n`);
  const end = (how, status, frames) => tell({ kind: "end", how, status, frames });
  tell({ kind: "start", script: given });

  // Whether only one plain call is left of the script from this position on; without a position, whether it has only imports.
  const last = (line, column) => {
    let text;
    try {
      text = inline ? process._eval : fs.readFileSync(given, "utf8");
    } catch {
      return false;
    }
    if (line === undefined) {
      return /^(\s|;|\/\/[^\n]*|\/\*[^]*?\*\/|#![^\n]*|"use strict"|import\s[^;"'`]*["'][^"'\n]*["'])*$/.test(text);
    }
    const rest = text.split("\n").slice(line - 1).join("\n").slice(column - 1);
    return /^[\w$.]*\([^()]*\)(\s|;|\/\/[^\n]*|\/\*[^]*?\*\/)*$/.test(rest);
  };
  const frames = () => {
    const { prepareStackTrace, stackTraceLimit } = Error;
    Error.stackTraceLimit = Infinity;
    Error.prepareStackTrace = (_, sites) => sites;
    const sites = new Error().stack;
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
    const found = [];
    for (const site of sites.slice(2)) {
      let name = site.getFileName() ?? "";
      if (name.startsWith("file:")) name = fileURLToPath(name);
      if (inline && name === "[eval]") name = given;
      if (name !== given && !path.isAbsolute(name)) continue;
      found.unshift([name, name === given && last(site.getLineNumber(), site.getColumnNumber())]);
    }
    if (!found.some(([name]) => name === given)) found.unshift(["", last()]);
    return found;
  };
  const codeOf = (code) => Number(code ?? process.exitCode ?? 0);
  for (const [name, how] of [["exit", "exit"], ["reallyExit", "left"]]) {
    const real = process[name];
    process[name] = function (code) {
      end(how, codeOf(code), frames());
      return Reflect.apply(real, process, code === undefined ? [] : [code]);
    };
  }
  process.on("exit", (code) => end(code ? "raised" : "reached", code, []));
  process.on("uncaughtExceptionMonitor", () => end("raised", 1, []));
}
