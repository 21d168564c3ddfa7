"""What it takes to start a server: a port that is really free, and the application behind it."""

import ipaddress
import socket
from collections.abc import Sequence

import uvicorn

from amemgym_envs.server.app import application
from amemgym_envs.server.instances import Instances
from amemgym_envs.server.served import Served

IDLE_S = 75  # that a connection may be silent while its agent thinks
GRACE_S = 5  # for the calls in progress when the server is told to end


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """Take ``port``, or a free one for 0. OSError: it is in use, or ``host`` is not of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off the waiting for more to send, 40 ms a reply, only for what says that it is TCP
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
        taken.listen(2048)
    except OSError:
        taken.close()
        raise
    return taken


def address(taken: socket.socket) -> str:
    host, port = taken.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_of(served: Sequence[Served], instances: Instances, token: str | None = None) -> uvicorn.Server:
    """A server of ``served`` that is still to be run, with the socket that ``bind`` gave."""
    settings = {"timeout_keep_alive": IDLE_S, "timeout_graceful_shutdown": GRACE_S, "access_log": False}
    return uvicorn.Server(uvicorn.Config(application(served, instances, token), log_level="warning", **settings))
