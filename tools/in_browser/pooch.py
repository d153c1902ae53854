"""Stands for pooch where nothing can be downloaded: a file that is not here is not to be had."""

import hashlib
from pathlib import Path


def os_cache(name):
    return Path("/tmp") / name


def file_hash(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def retrieve(url, *args, **options):
    raise OSError("a page in the browser downloads no data")
