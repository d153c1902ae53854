"""Loaded into pytest by `tools.mutants`: what is tested is the copy, and which tests run a line.

Examples are the same each time; memory and the processor's time, MUTANTS_SECONDS, are bounded.
With MUTANTS_COVERAGE=file it writes there ``{"seconds": {test: of the processor}, "lines": {file:
{line: tests}}}`` of the tests that pass. A test has the lines of its shared fixtures too, and
caches are emptied before each.
"""

import importlib
import json
import os
import resource
from pathlib import Path

import hypothesis
import pytest

HERE = Path(__file__).resolve().parent
MEMORY = 12 << 30  # bytes: a mutant may ask for any amount

SECONDS = int(os.environ["MUTANTS_SECONDS"])

resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
hypothesis.settings.register_profile("mutants", derandomize=True, database=None, deadline=None)
hypothesis.settings.load_profile("mutants")


def pytest_sessionstart():
    """The copy is what is tested."""
    import ismlit

    if Path(ismlit.__file__).resolve().parents[1] != HERE:
        raise SystemExit(f"not the copy: {ismlit.__file__}")


def pytest_configure(config):
    """Count lines where that is asked for."""
    if target := os.environ.get("MUTANTS_COVERAGE"):
        config.pluginmanager.register(LinesByTest(Path(target)))


class LinesByTest:
    """Which tests run each line of the library, beginning once all of it is imported."""

    def __init__(self, target):
        import coverage

        self.target, self.files = target, sorted((HERE / "ismlit").rglob("*.py"))
        names = [".".join(path.relative_to(HERE).with_suffix("").parts) for path in self.files]
        names = [name.removesuffix(".__init__") for name in names if "__main__" not in name]
        self.modules = [importlib.import_module(name) for name in names]
        self.seconds, self.failed, self.users = {}, set(), {}
        self.coverage = coverage.Coverage(data_file=None, include=[str(HERE / "ismlit" / "*")])
        self.coverage.start()

    def pytest_collection_finish(self, session):
        for item in session.items:
            self.users[item.nodeid] = [item.nodeid]
            for name in item.fixturenames:
                self.users.setdefault(f"fixture {name}", []).append(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        for module in self.modules:
            for thing in vars(module).values():
                if hasattr(thing, "cache_clear"):
                    thing.cache_clear()
        self.coverage.switch_context(item.nodeid)
        before = sum(os.times()[:4])
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = sum(os.times()[:4]) - before

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        if fixturedef.scope == "function":
            return (yield)
        self.coverage.switch_context(f"fixture {fixturedef.argname}")
        try:
            return (yield)
        finally:
            self.coverage.switch_context(request._pyfuncitem.nodeid)

    def pytest_runtest_logreport(self, report):
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self):
        self.coverage.stop()
        lines = {path.relative_to(HERE).as_posix(): self.lines(path) for path in self.files}
        text = json.dumps({"seconds": self.seconds, "lines": lines})
        self.target.write_text(text, encoding="utf-8")

    def lines(self, path):
        """{line: tests} of one file."""
        table = {}
        for line, contexts in self.coverage.get_data().contexts_by_lineno(str(path)).items():
            tests = {test for context in contexts for test in self.users.get(context, [])}
            if tests := sorted(tests - self.failed):
                table[line] = tests
        return table
