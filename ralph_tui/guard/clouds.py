"""What removes things on other machines: clusters, infrastructure, buckets, applications."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ralph_tui.guard.names import names
from ralph_tui.guard.options import Spec, parse
from ralph_tui.guard.verdicts import deny
from ralph_tui.guard.walk import Invocation

_VALUES = Spec(
    "nlcfoLspgC",
    long=names(
        "--namespace --context --kubeconfig --selector --output --filename --cluster --user --region"
        " --profile --endpoint-url --query --project --account --configuration --subscription --name"
        " --resource-group --app --org --stack --cwd --stage --kube-context --format --filter --zone"
    ),
)
_KUBECTL = names("delete drain")
_REMOVES = names("delete destroy remove rm rb purge terminate nuke")
_FIRST: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(names("kubectl oc"), _KUBECTL),
        "helm": names("uninstall delete del un"),
        "helmfile": names("destroy delete"),
        **dict.fromkeys(names("terraform tofu pulumi cdk cdktf sst sls serverless"), _REMOVES),
        **dict.fromkeys(names("kind k3d minikube vagrant multipass"), _REMOVES),
        "rclone": names("purge delete deletefile sync move moveto rmdir rmdirs cleanup"),
        "gsutil": names("rm rb"),
        "s3cmd": names("rb rm del"),
        "vercel": names("rm remove"),
        "firebase": _REMOVES,
    }
)
"""Programs whose first word says that they remove."""
_ANYWHERE = names("gcloud az doctl fly flyctl hcloud linode-cli ibmcloud oci terragrunt eksctl")
"""Programs in which that word stands behind what it is done to."""
_COLON = names("heroku netlify")
_AWS = ("delete-", "terminate-", "deregister-", "purge-", "remove-")


def _refuse(given: Invocation) -> None:
    options = [word.text for word in given.arguments if word.text != "--dry-run=none"]
    if any(option.startswith(("--dry-run", "--dryrun", "--help")) for option in options):
        return
    reason = "This removes what is not the project's, on other machines"
    deny("destructive", given.shown, reason, "Ask the person to do this, if it must be done.")


def _operands(given: Invocation) -> Sequence[str]:
    return [word.text for word in parse(given.arguments, _VALUES).operands]


def _first(given: Invocation) -> None:
    words, options = _operands(given), {word.text for word in given.arguments}
    removes = _FIRST[given.program]
    groups = ("state", "workspace", "stack")
    within = words[:1] and words[0] in groups and words[1:2] and words[1] in _REMOVES
    forced = words[:1] == ["replace"] and options & {"--force"}
    destroys = words[:1] == ["apply"] and options & {"-destroy", "--destroy"}
    if words and (words[0] in removes or within or forced or destroys):
        _refuse(given)


def _anywhere(given: Invocation) -> None:
    if _REMOVES.intersection(_operands(given)[:5]):
        _refuse(given)


def _aws(given: Invocation) -> None:
    words, options = _operands(given), {word.text for word in given.arguments}
    storage = words[:1] == ["s3"] and words[1:2]
    removes = storage and (
        words[1] in ("rm", "rb") or (words[1] in ("sync", "mv") and "--delete" in options)
    )
    if removes or (words[1:2] and words[1].startswith(_AWS)):
        _refuse(given)


def _colon(given: Invocation) -> None:
    if any(
        word.endswith((":destroy", ":delete", ":reset", ":remove")) for word in _operands(given)[:1]
    ):
        _refuse(given)


def _k3s(given: Invocation) -> None:
    if given.arguments:
        given.walker.run(given.arguments, given)


CLOUDS: Mapping[str, Callable[[Invocation], None]] = MappingProxyType(
    {
        **dict.fromkeys(_FIRST, _first),
        **dict.fromkeys(_ANYWHERE, _anywhere),
        **dict.fromkeys(_COLON, _colon),
        "aws": _aws,
        "k3s": _k3s,
        "microk8s": _k3s,
    }
)
