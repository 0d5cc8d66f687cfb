"""What must not break us: FAULTS section 6, line by line, and the test that injects each fault.

In this folder:
1-3, 5, 25, 63 test_crash_matrix (a real run, recorded) and test_kill_9 (real kills); 27, 49
test_kill_9; 5-9, 11, 13, 16-18, 20-23 test_hostile_dot; 19 test_size; 24, 26 test_many_hands; 34-40,
44, 74 test_model_side; 47, 50-52 test_output; 57 test_secrets; 72 test_size, test_long_runs.

Elsewhere, where the room's own tests inject them more closely:
2, 3 (a call that fails, a full disk) store/test_crash, store/test_files, engine/test_journaling;
4 store/test_crash; 5-9, 13-16, 23 store/test_damage, at document level; 10-12 store/test_migrate,
store/test_project; 17, 18 domain/test_plan, scenario/test_trouble; 22 store/test_project;
24 (an edit at the very instant of a write) store/test_crash; 26-28 store/test_lock;
29 store/test_files; 30 store/test_mirror (names); 31 store/test_project, store/test_lock;
32 engine/test_waiting, domain/test_rate (clocks of the test's own); 33 store/test_damage;
34-36, 39, 43, 44, 60 scenario/test_trouble, scenario/test_recovery, agent/test_failures;
41, 46, 48, 49 scenario/test_survival; 42 agent/test_failures; 46 engine/test_gate; 46, 49 (strays)
scenario/test_strays; 53 tui/test_hostile; 54 scenario/test_loop (only the tool's claim counts, and
the gate decides); 55, 56 guard/test_paths, and what no text shows scenario/test_sandbox;
57 domain/test_secrets, scenario/test_guarded, cli/test_edges, agent/test_holding;
58 guard/test_worker, guard/test_check, agent/test_contract; 59 guard/test_corpus, agent/test_contract;
61, 62 scenario/test_loop, domain/test_limits; 64 scenario/test_steering;
66, 67 guard/test_gitwatch, scenario/test_guarded; 68 cli/test_commands; 70 cli/test_terminal,
tui/test_hostile, pty/; 71 tui/test_leaving, pty/test_screen; 73 engine/test_journaling, and logs
that cannot be made test_hostile_dot; and `git clean -fdx` (residual gap a) store/test_mirror.

Not injected, and why:
30 (case-insensitive and normalising file systems): none here; paths are compared folded in guard/.
31 (unmounted): needs privileges; a directory that goes away is injected.
32 (the machine's own clock): cannot be set here; the waits are tested with clocks that jump.
36 (a half-open probe): the loop has the breaker's half-open try, domain/test_limits.
37 (TLS, DNS, proxies): classified by the CLI, which reports them as one failure; `reset` stands for them.
38 (UTF-8 split across chunks): the SDK's own reader.
40-41 (a CLI that ignores SIGTERM): the bundled CLI does not; SIGKILL after the grace is in
scenario/test_survival for its children.
45 (a session to resume is gone): sessions are never resumed; each iteration is a fresh one.
47 (fork bomb, fd exhaustion): bounded by the operating system; a limit of memory is injected.
65 (mid-merge, index.lock): ralph writes nothing to git; guard/test_gitwatch reads such repositories.
69 (no network at all): as `refused` in SDK-FACTS section 7; the loop's wait is in scenario/test_recovery.
70 (Windows Terminal): Windows is refused in one sentence, cli/test_edges.
"""
