"""Finding log files."""


def log_file(folder, name, local_rank=0, attempt=0):
    """The file of that name in the only run below `folder`; None if it does not exist."""
    found = [
        path for path in folder.glob(f"*/attempt_{attempt}/{local_rank}/{name}") if not path.parents[2].is_symlink()
    ]
    assert len(found) <= 1, found
    return found[0] if found else None


def text_of(folder, name, local_rank=0, attempt=0):
    path = log_file(folder, name, local_rank, attempt)
    return None if path is None else path.read_text()
