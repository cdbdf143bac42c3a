"""Which test files hold an area of the source, and which a change touches by what they import.

python tests/areas.py analysis log               the files of areas
python tests/areas.py --changed                  those that what is not committed yet touches, the nearest first
python tests/areas.py --changed --since main~3   the same of all that has come since a commit
"""

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

AREAS: Mapping[str, tuple[str, ...]] = {
    "model": (
        *("additive", "choosing", "conjugates", "covariates", "datasets", "diagnostics*", "evidence", "families"),
        *("frames", "likelihoods", "largest", "oracle", "outcome*", "populations*", "priors", "randomness", "readings"),
        *("regret_*", "space", "stroke*", "theory*", "two_values"),
    ),
    "log": ("log", "log_*", "exports", "cdisc", "arms"),
    "policies": (
        *("allocation", "borrowing", "composites", "forgetting", "gibbs*", "instruments", "intent", "linear*", "logit"),
        *("mixture", "policies", "policy_*", "robust", "robust_outcomes"),
    ),
    "kernels": ("kernels_*", "picking"),
    "simulation": ("simulation", "engines", "cluster", "traces"),
    "design": ("design_*", "calibration*", "stopping"),
    "analysis": ("analysis_*", "adjusted"),
    "trial": ("trial_*", "spec", "wording"),
    "store": ("store_*",),
    "service": ("service_*", "people", "shown", "worklist"),
    "pages": ("pages_*",),
    "client": ("client", "edge*", "leases", "processes"),
    "paper": ("paper*", "beyond", "related", "robust_paper", "table2"),
    "adapters": ("adapters_*", "peers*"),
    "gates": ("gates*",),
    "package": ("areas", "build", "charts", "cli", "package", "qualification", "reference", "site", "validation"),
}
"""Patterns of the names of an area's test files, without `test_` and `.py`."""

UNDER_ALL = ("tests/conftest.py", "pyproject.toml", "locks/dev.lock")
"""Files that every test stands on."""


def of_area(area: str) -> list[Path]:
    """The test files of an area."""
    if area not in AREAS:
        raise SystemExit(f"AREA={area}: expected one of {', '.join(AREAS)}")
    return [file for file in test_files(ROOT) if area in areas_of(file)]


def areas_of(file: Path) -> list[str]:
    """The areas that have a test file: one, or a test fails."""
    name = file.stem.removeprefix("test_")
    return [area for area, patterns in AREAS.items() if any(fnmatch(name, pattern) for pattern in patterns)]


def test_files(root: Path) -> list[Path]:
    """All test files of a tree, in order."""
    return sorted((root / "tests").glob("test_*.py"))


class Sources:
    """The Python files of a tree, and which use which, read from their text.

    Imports within functions count. A name that a package passes on is an import of the module that defines it:
    `from takeup import TS` touches the module of TS, not all of takeup. A module that is named in a string is run or
    loaded, as in `python -m takeup`. A package that loads its modules by their names uses all of them.
    """

    BASES = ("src", "tests", "benchmarks", "")
    BY_NAME: Mapping[str, tuple[str, ...]] = {
        "takeup.policies.registry": ("takeup.policies.",),
        "takeup.simulation.kernels.choice": ("takeup.simulation.kernels.",),
        "gates.known": ("gates.",),
        "serving": ("takeup.__main__",),
    }

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.paths: dict[str, Path] = {}
        for base in self.BASES:
            folders = [root / base] if base else [root / "gates"]
            for path in sorted(file for folder in folders for file in folder.rglob("*.py")):
                parts = path.relative_to(root / base).with_suffix("").parts
                self.paths.setdefault(".".join(parts).removesuffix(".__init__"), path)

    @cached_property
    def names(self) -> dict[Path, str]:
        """Modules by their files."""
        return {path: name for name, path in self.paths.items()}

    @cache  # noqa: B019  # a tree is read once in the life of a process
    def tree(self, name: str) -> ast.Module:
        """The syntax of a module."""
        return ast.parse(self.paths[name].read_text(encoding="utf-8"))

    def home(self, module: str, name: str, tries: int = 9) -> str:
        """The module that defines what another one has by this name."""
        whole = f"{module}.{name}"
        if whole in self.paths:
            return whole
        if self.paths[module].name == "__init__.py" and tries:
            for node in self.tree(module).body:
                if isinstance(node, ast.ImportFrom) and node.module in self.paths:
                    for alias in node.names:
                        if (alias.asname or alias.name) == name:
                            return self.home(node.module, alias.name, tries - 1)
        return module

    @cached_property
    def uses(self) -> dict[str, set[str]]:
        """The modules that each module imports, runs or loads by name; of a test file, its fixtures', too."""
        found = {name: set(self._of(self.tree(name))) for name in self.paths}
        for name, prefixes in self.BY_NAME.items():
            if name in found:
                found[name] |= {other for other in self.paths if other.startswith(prefixes)}
        for file in test_files(self.root):
            found[self.names[file]] |= self.fixtures(file)
        return found

    @cached_property
    def users(self) -> dict[str, set[str]]:
        """The modules that use each module."""
        found: dict[str, set[str]] = {name: set() for name in self.paths}
        for name, used in self.uses.items():
            for other in used:
                found[other].add(name)
        return found

    def _of(self, tree: ast.AST) -> Iterator[str]:
        packages: dict[str, str] = {}  # what is known by a name here, and used by its attributes
        attributes: list[tuple[str, str]] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name in self.paths:
                        packages[alias.asname or alias.name] = alias.name
            elif isinstance(node, ast.ImportFrom) and node.module in self.paths:
                for alias in node.names:
                    place = self.home(node.module, alias.name)
                    if self._is_package(place) and place == f"{node.module}.{alias.name}":
                        packages[alias.asname or alias.name] = place
                    else:
                        yield place
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
                if node.value in self.paths:
                    yield node.value
            elif isinstance(node, ast.Attribute) and (chain := _dotted(node.value)):
                attributes.append((chain, node.attr))
        yield from (self.home(packages[chain], name) for chain, name in attributes if chain in packages)
        yield from (place for place in packages.values() if not self._is_package(place))

    def _is_package(self, name: str) -> bool:
        return self.paths[name].name == "__init__.py"

    def fixtures(self, file: Path) -> set[str]:
        """What the fixtures of conftest.py import that the tests of a file ask for."""
        made = {node.name: node for node in self.tree("conftest").body if isinstance(node, ast.FunctionDef)}
        asked = {
            argument.arg
            for node in ast.walk(self.tree(self.names[file]))
            if isinstance(node, ast.FunctionDef) and (node.name.startswith("test_") or node.decorator_list)
            for argument in node.args.args
        }
        asked -= {  # a parameter that has the name of a fixture is none
            name
            for node in ast.walk(self.tree(self.names[file]))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parametrize"
            for argument in node.args[:1]
            for constant in ast.walk(argument)
            if isinstance(constant, ast.Constant)
            for name in str(constant.value).replace(" ", "").split(",")
        }
        found: set[str] = set()
        waiting = [made[name] for name in sorted(asked & made.keys())]
        for node in waiting:
            found |= set(self._of(node))
            waiting += [made[each.arg] for each in node.args.args if each.arg in made and made[each.arg] not in waiting]
        return found

    def touched(self, changed: Path) -> dict[Path, int]:
        """The test files that a changed file touches, with how many imports away they are.

        What is no module, as a page, a template or a script, touches the tests that name it, and what lies beside it;
        what is under all of them touches all.
        """
        if str(changed) in UNDER_ALL:
            return dict.fromkeys(test_files(self.root), 1)
        changed = self.root / changed
        if changed not in self.names and "src" not in changed.parts:
            texts = {file: file.read_text(encoding="utf-8") for file in test_files(self.root)}
            words = (changed.name, f'"{changed.parent.name}"')
            return {file: 1 for file, text in texts.items() if any(word in text for word in words)}
        far = dict.fromkeys(self._modules(changed), 0)
        for name in (waiting := list(far)):
            for user in sorted(self.users[name] - far.keys()):
                far[user] = far[name] + 1
                waiting.append(user)
        return {file: far[self.names[file]] for file in test_files(self.root) if self.names[file] in far}

    def _modules(self, changed: Path) -> list[str]:
        """The module of a file, or, of one that is none, those of the nearest folder above that has any."""
        if changed in self.names:
            return [self.names[changed]]
        above = {name: path for name, path in self.paths.items() if path.parent in changed.parents}
        deepest = max((len(path.parts) for path in above.values()), default=0)
        return [name for name, path in above.items() if len(path.parts) == deepest]


def _dotted(node: ast.AST) -> str:
    """The name `a.b.c` of such an expression; nothing of any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def changed(since: str) -> list[Path]:
    """Files that differ from a commit, and those that git does not know yet."""
    differ = _git("diff", "--name-only", since, "--")
    return [Path(name) for name in [*differ, *_git("ls-files", "--others", "--exclude-standard")]]


def _git(*arguments: str) -> list[str]:
    command = ["git", "-C", str(ROOT), "-c", "core.quotePath=off", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def nearest(sources: Sources, files: list[Path]) -> dict[Path, int]:
    """The test files that any of these touches, the nearest first."""
    near: dict[Path, int] = {}
    for each in files:
        for file, distance in sources.touched(each).items():
            near[file] = min(distance, near.get(file, distance))
    return dict(sorted(near.items(), key=lambda item: (item[1], item[0])))


def main() -> None:
    """Print the files for pytest, a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("area", nargs="*")
    parser.add_argument("--changed", action="store_true", help="what a change touches")
    parser.add_argument("--since", default="HEAD", metavar="COMMIT", help="with --changed: what counts as changed")
    chosen = parser.parse_args()
    if bool(chosen.area) == chosen.changed:
        parser.error(f"name an area ({', '.join(AREAS)}) or --changed")
    if chosen.changed:
        picked = list(nearest(Sources(), changed(chosen.since)))
        sys.stderr.write(f"{len(picked)} of {len(test_files(ROOT))} test files, the nearest first\n")
    else:
        picked = [file for area in chosen.area for file in of_area(area)]
    sys.stdout.writelines(f"{file.relative_to(ROOT)}\n" for file in picked)


if __name__ == "__main__":
    main()
