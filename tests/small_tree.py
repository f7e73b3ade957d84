"""Small trees of files on which the checks of the house prove that they can fail."""
import tempfile
from pathlib import Path


def said_of_tree(complaints, files):
    """What a check complains of in a tree of these files: their texts by their paths."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(complaints(Path(folder)))
