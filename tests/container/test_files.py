"""The Dockerfile, the compose file and the scripts: linted, and their facts compared."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from dockerfile_parse import DockerfileParser
from ruamel.yaml import YAML

from torchguide.facts import DockerImage, table

FILES = Path(__file__).resolve().parents[2] / "examples" / "container"
DOCKERFILE = FILES / "Dockerfile"
COMPOSE = YAML(typ="safe").load(FILES / "compose.yaml")
SERVICE = COMPOSE["services"]["workplace"]
VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")  # of a compose file, with its default


@pytest.fixture(scope="module")
def dockerfile():
    """Parse the Dockerfile; the parser would write beside it if it were given its path."""
    return DockerfileParser(fileobj=BytesIO(DOCKERFILE.read_bytes()))


@pytest.fixture(scope="module")
def steps(dockerfile):
    return [(step["instruction"], step["value"]) for step in dockerfile.structure]


def values(steps, instruction):
    return [value for name, value in steps if name == instruction]


@pytest.mark.parametrize(
    "command",
    [
        ["hadolint", "Dockerfile"],
        ["shellcheck", "start.sh", "healthy.sh"],
        ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml"],
    ],
    ids=lambda command: command[0],
)
def test_the_linter_finds_nothing(command):
    program = Path(sys.executable).with_name(command[0])
    shown = subprocess.run(
        [program, *command[1:]], cwd=FILES, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr


def defaults():
    """Map each variable of the compose file to its default; twice means the same default."""
    found = {}
    for name, value in VARIABLE.findall((FILES / "compose.yaml").read_text()):
        assert found.setdefault(name, value) == value, name
    return found


def test_the_image_is_one_that_the_facts_know_as_seen_in_use(dockerfile):
    verified = {f"pytorch/pytorch:{image.tag}" for image in table(DockerImage) if image.verified}
    assert dockerfile.baseimage in verified


def test_the_image_is_of_the_newest_torch_with_a_tag_seen_in_use(dockerfile):
    newest = max(
        (tuple(int(part) for part in f"{image.torch}.{image.cuda}".split(".")), image.tag)
        for image in table(DockerImage)
        if image.verified
    )
    assert dockerfile.baseimage == f"pytorch/pytorch:{newest[1]}"


def test_every_image_of_the_facts_can_be_named_by_the_two_arguments():
    source = re.search(r"^FROM (.+)$", DOCKERFILE.read_text(), re.MULTILINE)[1]
    for image in table(DockerImage):
        name = source.replace("${TORCH_VERSION}", image.torch).replace(
            "${CUDA_VERSION}", image.cuda
        )
        assert name == f"pytorch/pytorch:{image.tag}"


def test_compose_and_dockerfile_have_the_same_arguments_and_defaults(steps):
    declared = dict(value.split("=") for value in values(steps, "ARG") if "=" in value)
    given = {
        name: VARIABLE.fullmatch(value).groups() for name, value in SERVICE["build"]["args"].items()
    }
    assert given == {name: (name, default) for name, default in declared.items()}


def test_an_argument_used_after_from_is_declared_after_it(steps):
    start = [name for name, _ in steps].index("FROM")
    known = set()
    for name, value in steps[start:]:
        if name == "ARG":
            known.add(value.split("=")[0])
        used = set(re.findall(r"\$\{?(TORCH_VERSION|CUDA_VERSION|USER_ID|GROUP_ID)\b", value))
        if name != "FROM":
            assert used <= known, value


def test_the_example_of_settings_has_all_of_them_with_their_defaults():
    lines = (FILES / "env.example").read_text().splitlines()
    settings = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert settings == defaults()


def test_the_ports_are_open_on_this_computer_only():
    assert defaults()["BIND_ADDRESS"] == "127.0.0.1"
    for port in SERVICE["ports"]:
        assert port.startswith("${BIND_ADDRESS:-127.0.0.1}:"), port
    assert not {"network_mode", "privileged", "pid", "ipc"} & SERVICE.keys()


def test_the_ports_are_the_same_everywhere(steps):
    inside = [port.rpartition(":")[2] for port in SERVICE["ports"]]
    assert " ".join(inside) == values(steps, "EXPOSE")[0]
    for script in ("start.sh", "healthy.sh"):
        text = (FILES / script).read_text()
        assert re.findall(r"_PORT:-(\d+)", text) == inside, script


def test_an_ordinary_user_starts_under_tini_with_a_health_check(steps):
    names = [name for name, _ in steps]
    assert values(steps, "USER") == ["guide"]
    assert names.index("USER") > max(at for at, name in enumerate(names) if name == "RUN")
    assert json.loads(values(steps, "ENTRYPOINT")[0])[:2] == ["tini", "--"]
    check = values(steps, "HEALTHCHECK")[0]
    assert json.loads(check[check.index("[") :]) == ["bash", "/opt/workplace/healthy.sh"]
    assert SERVICE["cap_drop"] == ["ALL"]
    assert SERVICE["security_opt"] == ["no-new-privileges:true"]


def test_no_password_or_token_is_built_in(steps):
    for name, value in steps:
        assert name == "COMMENT" or not re.search(r"(?i)password|chpasswd|token|secret", value), (
            value
        )
    assert defaults()["JUPYTER_TOKEN"] == defaults()["SSH_PUBLIC_KEY"] == ""


def test_everything_copied_is_there_and_let_through_to_the_build(steps):
    copied = {source for value in values(steps, "COPY") for source in value.split()[:-1]}
    assert all((FILES / source).is_file() for source in copied)
    first, *let_through = (FILES / "Dockerfile.dockerignore").read_text().split("\n", 1)[1].split()
    assert first == "*"  # ./work may hold gigabytes
    assert set(let_through) == {f"!{source}" for source in copied}


def test_work_cache_and_state_outlive_the_container_and_belong_to_the_user(steps):
    mounts = dict(volume.split(":") for volume in SERVICE["volumes"])
    home = "/home/guide"
    assert mounts == {
        "./work": f"{home}/work", "cache": f"{home}/.cache", "state": f"{home}/.workplace",
    }  # fmt: skip
    assert COMPOSE["volumes"].keys() == {"cache", "state"}
    made = " ".join(values(steps, "RUN"))
    for target in mounts.values():  # else Docker makes them as root's
        assert re.search(rf"install -d -o guide -g guide[^&]* {re.escape(target)}(\s|$)", made)


def test_the_container_gets_all_gpus_and_enough_shared_memory():
    (device,) = SERVICE["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    assert defaults()["SHM_SIZE"] == "8gb"


def test_every_package_is_pinned():
    lines = (FILES / "requirements.txt").read_text().splitlines()
    packages = [line for line in lines if not line.startswith("#")]
    assert packages
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", package) for package in packages)


def test_the_readme_names_the_ports_and_the_user_that_there_are(steps):
    text = (FILES / "README.markdown").read_text()
    jupyter, ssh = values(steps, "EXPOSE")[0].split()
    assert f"http://127.0.0.1:{jupyter}`" in text
    assert f"`ssh -p {ssh} {values(steps, 'USER')[0]}@127.0.0.1`" in text
