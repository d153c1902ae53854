"""As much of IPython as the book's cells and libraries ask for."""

__version__ = "9.0"
version_info = (9, 0, 0, "")


class Shell:
    """What `get_ipython()` answers: that a notebook runs, but none that could be hooked into."""

    def __bool__(self):
        return False


SHELL = Shell()


def get_ipython():
    return SHELL
