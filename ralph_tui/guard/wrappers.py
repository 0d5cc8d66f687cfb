"""Programs that only start another: what stands between their name and the command."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ralph_tui.guard.names import names
from ralph_tui.guard.options import NO_VALUES, Spec


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program whose arguments are, after its options and `skip` operands, a command.

    Attributes:
        spec: Its options with values.
        skip: How many operands stand before the command.
        assigns: Whether `NAME=value` may stand before the command.
    """

    spec: Spec = NO_VALUES
    skip: int = 0
    assigns: bool = False


_SUDO = Wrapper(
    Spec(
        "ugpCDRTrthU",
        long=names(
            "--user --group --prompt --close-from --chdir --chroot --command-timeout --role"
            " --type --host --other-user"
        ),
    ),
    assigns=True,
)
_TIME = Wrapper(Spec("fo", long=names("--format --output")))
WRAPPERS: Mapping[str, Wrapper] = MappingProxyType(
    {
        "timeout": Wrapper(Spec("ks", long=names("--kill-after --signal")), skip=1),
        "gtimeout": Wrapper(Spec("ks", long=names("--kill-after --signal")), skip=1),
        "nice": Wrapper(Spec("n", attached="0123456789", long=names("--adjustment"))),
        "sudo": _SUDO,
        "doas": Wrapper(Spec("uCa")),
        "builtin": Wrapper(),
        "exec": Wrapper(Spec("a")),
        "time": _TIME,
        "gtime": _TIME,
        "stdbuf": Wrapper(Spec("ioe", long=names("--input --output --error"))),
        "ionice": Wrapper(Spec("cnpPu", long=names("--class --classdata"))),
        "chrt": Wrapper(Spec("TPD"), skip=1),
        "taskset": Wrapper(Spec(), skip=1),
        "numactl": Wrapper(Spec("CNmipl", long=names("--cpunodebind --membind --interleave"))),
        "prlimit": Wrapper(Spec("po", long=names("--pid --output"))),
        "strace": Wrapper(Spec("abeEIoOpPsSuUX")),
        "ltrace": Wrapper(Spec("aADeEfilnopsuxX")),
        "unshare": Wrapper(Spec("RwSG", long=names("--root --wd --setuid --setgid"))),
        "nsenter": Wrapper(Spec("tSG", long=names("--target --setuid --setgid"))),
        "chroot": Wrapper(Spec(long=names("--userspec --groups")), skip=1),
        "setpriv": Wrapper(Spec(long=names("--reuid --regid --groups --pdeathsig --inh-caps"))),
        "systemd-run": Wrapper(Spec("pHMutE", long=names("--unit --property --setenv --slice"))),
        "faketime": Wrapper(skip=1),
        "cpulimit": Wrapper(Spec("lpeP")),
        "perf": Wrapper(Spec("eoC"), skip=1),
        "valgrind": Wrapper(),
        "direnv": Wrapper(skip=2),
        "bundle": Wrapper(skip=1),
        "xvfb-run": Wrapper(Spec("efnpsw", long=names("--server-num --server-args"))),
        "jobs": Wrapper(),
        "busybox": Wrapper(),
        "toybox": Wrapper(),
        "setarch": Wrapper(),
        "linux32": Wrapper(),
        "linux64": Wrapper(),
        "ssh-agent": Wrapper(Spec("aEtP")),
        **dict.fromkeys(
            names(
                "nohup setsid unbuffer chronic eatmydata fakeroot caffeinate catchsegv stdoutisatty"
                " dbus-run-session rlwrap ts coproc firejail pkexec exec-with-piped torsocks"
            ),
            Wrapper(),
        ),
    }
)
