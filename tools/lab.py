"""How `make lab` reads and writes notebooks, so that one just opened has nothing to be saved.

The book's notebooks do not say with which Python they were executed: it would differ from machine
to machine. JupyterLab asks the kernel, adds the answer, and takes the notebook for changed. Here it
is handed the notebook with that answer, which is not written back.

``python -m jupyterlab --ServerApp.contents_manager_class=tools.lab.Contents``
"""

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from tools.execute_notebooks import LANGUAGE


class Contents(AsyncLargeFileManager):
    """The files of a folder, Python notebooks with the language of this machine's kernel."""

    async def get(self, path, *args, **options):
        """What the server sends of a file or folder."""
        model = await super().get(path, *args, **options)
        if metadata := _python(model):
            metadata["language_info"] = dict(IPythonKernel.language_info)
        return model

    async def save(self, model, path=""):
        """Write a file as the book keeps it."""
        if metadata := _python(model):
            metadata["language_info"] = dict(LANGUAGE)
        return await super().save(model, path)


def _python(model):
    """The metadata of a notebook for Python; None for anything else."""
    if model["type"] != "notebook" or not model.get("content"):
        return None
    metadata = model["content"]["metadata"]
    return metadata if metadata.get("language_info", LANGUAGE)["name"] == "python" else None
