"""``amemgym-train serve``: environments at a port, and who may reach them."""

import argparse
import errno
import os
from typing import Any

import yaml

from amemgym_train.errors import UserError

TOKEN = "AMEMGYM_TOKEN"


def serve(arguments: argparse.Namespace) -> None:
    """Serve until the process is told to end. UserError: something asked for cannot be served, or not there."""
    try:
        from amemgym_envs.server.instances import Instances
        from amemgym_envs.server.run import address, bind, is_loopback, server_of
    except ModuleNotFoundError as error:
        raise UserError(f"serving needs {error.name}; pip install 'amemgym-train[server]'") from None
    token = arguments.token or os.environ.get(TOKEN) or None
    if token is None and not arguments.insecure and not is_loopback(arguments.host):
        raise UserError(
            f"--host {arguments.host} lets others than this machine in; give --token TEXT (or set {TOKEN}), which every client "
            "must know, or --insecure to let everybody in"
        )
    try:
        port = bind(arguments.host, arguments.port)
    except (OSError, OverflowError) as error:
        raise UserError(_not_bound(arguments, error)) from None
    with port:
        served = _served(arguments)
        server = server_of(served, Instances(arguments.max_instances, arguments.ttl), token)
        print(f"serving {', '.join(one.name for one in served)} at {address(port)}", flush=True)
        server.run(sockets=[port])


def _not_bound(arguments: argparse.Namespace, error: Exception) -> str:
    where = f"port {arguments.port} of {arguments.host}"
    if getattr(error, "errno", None) == errno.EADDRINUSE:
        return f"{where} is in use; choose another by --port, or 0 for any free one"
    return f"{where} cannot be listened at: {error}; choose others by --host and --port"


def _served(arguments: argparse.Namespace) -> list[Any]:
    from amemgym_envs.registry import class_of, full_name
    from amemgym_envs.server.served import Served

    try:
        names = [full_name(name.strip()) for name in arguments.names.split(",")]
        if len(set(names)) < len(names):
            raise ValueError(f"{arguments.names} names an environment twice; name each once")
        options: dict[str, dict[str, Any]] = {name: {} for name in names}
        for word in arguments.option:
            name, key, value = _option(word)
            if (name := full_name(name)) not in options:
                raise ValueError(f"--option {word} is of {name}, which is not served; there are {', '.join(names)}")
            options[name][key] = value
        return [Served(name, options[name]) for name in names]
    except ModuleNotFoundError as error:
        extras = {name: class_of(name).card.extra for name in names}
        extra = next((extra for extra in extras.values() if extra), "server")
        raise UserError(f"{error}; pip install 'amemgym-train[{extra}]'") from None
    except ValueError as error:
        raise UserError(str(error)) from None


def _option(word: str) -> tuple[str, str, Any]:
    """The environment, the key and the value (as YAML would read it) of ENV.KEY=VALUE."""
    left, equals, value = word.partition("=")
    name, dot, key = left.partition(".")
    if not (equals and dot and name and key.isidentifier()):
        raise ValueError(f"--option {word}: expected ENV.KEY=VALUE, for instance wordle.mode=agentgym")
    try:
        return name, key, yaml.safe_load(value)
    except yaml.YAMLError:
        return name, key, value
