"""``amemgym-train push``: the best adapter of a run to the hub, as one commit."""

import hashlib
import sys
from pathlib import Path

from amemgym_train.errors import UserError
from amemgym_train.report.parcel import Parcel, parcel
from amemgym_train.report.record import read_run


def push(
    run: str, repo: str, private: bool = False, revision: str | None = None, base: str | None = None, dry_run: bool = False
) -> int:
    """Send the best adapter of ``run`` to the repository ``repo``, or print what would go; returns 1 when the hub refuses or
    cannot be reached, else 0. UserError: the run has nothing that could be sent as it is."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        for name in (repo, *([base] if base else [])):
            validate_repo_id(name)
    except HFValidationError as error:
        raise UserError(f"{name}: no id of a repository ({error}); expected OWNER/NAME") from error
    record = read_run(run)
    files = parcel(record, repo, base)
    where = f"{repo}, branch {revision or 'main'}"
    if dry_run:
        print(f"would go to {where}{', private' if private else ''} (SHA-256, bytes, file):")
        for name, source in sorted(files.items()):
            content = _bytes(source)
            print(f"{hashlib.sha256(content).hexdigest()}  {len(content):>12,}  {name}")
        return 0
    number = record.best.number if record.best else 0
    try:
        address = _send(files, repo, private, revision, f"Adapter of {record.name}, iteration {number}")
    except UserError as error:
        print(f"amemgym-train: {error}", file=sys.stderr)
        return 1
    print(f"{len(files)} files are at {where}: {address}")
    return 0


def _bytes(source: Path | bytes) -> bytes:
    return source if isinstance(source, bytes) else source.read_bytes()


def _send(files: Parcel, repo: str, private: bool, revision: str | None, message: str) -> str:
    """One commit; returns its address. UserError: what the hub, or the way to it, had against it."""
    import httpx
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError, HTTPError, LocalTokenNotFoundError, OfflineModeIsEnabled

    api = HfApi(library_name="amemgym-train")
    operations = [CommitOperationAdd(name, source) for name, source in sorted(files.items())]
    try:
        api.whoami()
        made = api.create_repo(repo, private=private or None, exist_ok=True).repo_id
        if private and not api.repo_info(made).private:
            raise UserError(f"{made} is there already and public: --private does not change that. Nothing was sent; name another")
        if revision is not None:
            api.create_branch(made, branch=revision, exist_ok=True)
        return str(api.create_commit(made, operations, commit_message=message, revision=revision).commit_url)
    except LocalTokenNotFoundError as error:
        raise UserError("not logged in to the hub. Run: hf auth login, or set HF_TOKEN; then push again") from error
    except OfflineModeIsEnabled as error:
        raise UserError("HF_HUB_OFFLINE is set, so that the hub is not asked. Unset it, then push again") from error
    except HfHubHTTPError as error:
        raise UserError(_refused(error.response.status_code, repo, _first(error))) from error
    except (HTTPError, httpx.HTTPError, OSError, RuntimeError) as error:
        mend = "Mend the network or HF_ENDPOINT, then push again"
        raise UserError(f"the hub cannot be reached at {api.endpoint} ({_first(error)}). {mend}") from error
    except (ValueError, KeyError, TypeError) as error:  # HfUriError among them: an answer that is not the hub's
        what = f"{api.endpoint} answered what huggingface_hub cannot read ({_first(error)})"
        raise UserError(f"{what}. Look whether HF_ENDPOINT is a hub, and what {repo} holds, then push again") from error


def _first(error: Exception) -> str:
    """The first line of what it says, or its name."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _refused(status: int, repo: str, reason: str) -> str:
    if status == 401:
        return f"the hub does not know this token ({reason}). Run: hf auth login --force, or set HF_TOKEN; then push again"
    if status == 403:
        return f"the hub does not let you write to {repo} ({reason}). Use a token with write access, or another --repo"
    return f"the hub refused {repo} with status {status} ({reason}). Push again later, or with another --repo"
