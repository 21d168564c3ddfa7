"""Why a call is not answered: each kind by its code and its HTTP status."""

STATUS = {
    "bad_request": 400,  # the message says which field is missing or wrong
    "unauthorized": 401,
    "not_found": 404,  # no such path
    "unknown_environment": 404,
    "unknown_task": 404,
    "unknown_instance": 404,  # never there, closed, or idle for too long
    "method_not_allowed": 405,
    "not_running": 409,  # a step after the end of the episode
    "request_id_reused": 409,
    "too_large": 413,
    "too_many_instances": 429,
    "internal_error": 500,
    "environment_failed": 500,  # it raised, and its episode is over
}


class Refusal(Exception):
    """A call that is answered by {"error": {"code": ..., "message": ...}}."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, STATUS[code]

    def to_dict(self) -> dict[str, dict[str, str]]:
        return {"error": {"code": self.code, "message": self.message}}
