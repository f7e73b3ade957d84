"""Small trees of files on which the checks of the house prove that they can fail."""
import tempfile
from pathlib import Path


def errors_of_tree(check, files):
    """The errors that a check finds in a tree of these files: texts by path."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(check(Path(folder)))
