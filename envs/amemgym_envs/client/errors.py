"""What a server's refusal is to its client. All but the mistakes of the caller are OSErrors: they make an episode unscorable."""

from typing import Any

AGAIN = (429, 502, 503, 504)  # statuses that may pass
UNDONE = (429, 503)  # those of them that say that nothing was done


class ServerError(OSError):
    """The server failed, or said what nobody understands. ``code``: what it calls that, if it is ours."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class InstanceLost(ConnectionError):
    """The server does not know the instance (any more): it was restarted, or the instance was idle for too long."""


def error_of(where: str, error: Any) -> Exception:
    """The exception for {"code": ..., "message": ...} from ``where``."""
    if not isinstance(error, dict):
        return ServerError(f"{where}: {str(error)[:300]}")
    code, message = str(error.get("code")), f"{where}: {error.get('message')}"
    if code in ("unknown_task", "unknown_environment", "bad_request"):
        return ValueError(message)
    if code == "not_running":
        return RuntimeError(message)
    if code == "unauthorized":
        return PermissionError(message)
    if code == "unknown_instance":
        return InstanceLost(message)
    if code == "too_many_instances":
        return ConnectionRefusedError(message)
    return ServerError(message, code)
