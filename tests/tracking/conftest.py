"""What W&B keeps of a run on disk, read back."""

import struct

import pytest

HEADER, BLOCK = 7, 32768  # bytes: of the file and of every piece of a record; pieces do not cross blocks
WHOLE, LAST = 1, 4  # kinds of pieces that end a record


def records(path):
    """The records of a .wandb file: LevelDB's log format around protobuf messages."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, place, pieces = path.read_bytes(), HEADER, b""
    while place + HEADER <= len(data):
        left = BLOCK - place % BLOCK
        if left < HEADER:
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + HEADER])
        place += HEADER
        pieces += data[place : place + length]
        place += length
        if kind in (WHOLE, LAST):
            record = Record()
            record.ParseFromString(pieces)
            yield record
            pieces = b""


@pytest.fixture
def stored():
    """The records of all offline runs in a folder, a list for each process, in the order they were begun."""
    pytest.importorskip("wandb")
    return lambda folder: [list(records(path)) for path in sorted(folder.glob("wandb/offline-run-*/run-*.wandb"), key=_begun)]


def _begun(path):
    return path.stat().st_mtime_ns
