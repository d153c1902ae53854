"""Start notebook kernels as forks of one process that has imported the heavy packages.

A notebook's first cell spends three seconds on numpy, scipy, scikit-learn, sympy and matplotlib; a
fork has them at once. `warm` changes how `jupyter_client` starts a kernel in this process, and does
nothing where processes cannot be forked (Windows).
"""

import multiprocessing
import os
import time

PACKAGES = [
    "ipykernel.kernelapp",
    "matplotlib.pyplot",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.datasets",
    "sklearn.ensemble",
    "sklearn.model_selection",
    "sympy",
]
INLINE = "module://matplotlib_inline.backend_inline"  # as a kernel would say, before the import


def _kernel(arguments, folder, environment):
    """What the fork does: it becomes the kernel of ``python -m ipykernel_launcher arguments``."""
    import sys

    from ipykernel.kernelapp import launch_new_instance

    os.setsid()  # a group of its own, which is what gets signalled
    os.chdir(folder)
    os.environ.update(environment)
    parent = f"--IPKernelApp.parent_handle={os.getppid()}"  # it ends when the server does
    sys.argv = ["ipykernel_launcher", *arguments, parent]
    sys.path.insert(0, "")
    launch_new_instance()


class Fork:
    """A kernel's process, with the part of `subprocess.Popen` that jupyter_client uses."""

    stdin = stdout = stderr = None

    def __init__(self, process):
        self.process = process

    def __getattr__(self, name):  # pid, terminate, kill
        return getattr(self.process, name)

    def poll(self):
        return self.process.exitcode

    returncode = property(poll)

    def wait(self, timeout=None):
        self.process.join(timeout)
        return self.poll()

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)


def _launch(command, cwd=None, env=None, **_):
    arguments = command[command.index("ipykernel_launcher") + 1 :]
    process = multiprocessing.get_context("forkserver").Process(
        target=_kernel, args=(arguments, cwd or os.getcwd(), dict(env or {}))
    )
    process.start()
    while process.is_alive() and os.getpgid(process.pid) != process.pid:
        time.sleep(0.001)
    return Fork(process)


def warm():
    """From here on, kernels that this process starts are forks."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return
    from jupyter_client.provisioning import local_provisioner

    os.environ.setdefault("MPLBACKEND", INLINE)
    multiprocessing.get_context("forkserver").set_forkserver_preload(PACKAGES)
    local_provisioner.launch_kernel = _launch
