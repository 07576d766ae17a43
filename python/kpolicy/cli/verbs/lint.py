"""`kpolicy lint`: says what is wrong with policies, and where; `--fix` corrects some of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kpolicy.cli.findings_text import (
    COLUMNS,
    Findings,
    concise,
    full,
    github,
    place_of,
    summary,
)
from kpolicy.cli.input_output import (
    difference,
    is_color,
    load_snapshot,
    policy_sources,
    text_width,
    write,
    write_back,
)
from kpolicy.cli.verb import (
    FINDINGS,
    FINE,
    FOLLOWED,
    PARAM,
    PATHS,
    CannotWorkError,
    Verb,
    argument,
    formats,
    repeatable,
)
from kpolicy.cli.verbs.lint_settings import SETTINGS_ARGUMENTS, settings_of
from kpolicy.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from kpolicy.diagnostics import Diagnostic
    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
    from kpolicy.policy.compile import Compiled
    from kpolicy.policy.format.fixes import Fixed
    from kpolicy.policy.yaml.source import Source

_STDIN: Final = "<stdin>"
_EPILOG: Final = """\
The policies of a folder are checked together, as `kpolicy run` would load them. A policy can name
one of another argument as its base. Without an argument, stdin is read.

With --snapshot, the rules are also checked against the recorded cluster. lint then reports names
that nothing in the cluster has, and rules and scores that are the same on all nodes.

`# kpolicy: ignore[KP312] reason` silences a finding, on its line or on the line above.

exit: 0 no errors, 1 errors (or a code of --deny, or a change that --diff shows), 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    if args.tenant_of and args.snapshot:
        raise CannotWorkError("--tenant-of does not go with --snapshot")
    if args.unsafe_fixes and not (args.fix or args.diff):
        raise CannotWorkError("--unsafe-fixes goes with --fix or --diff")
    work = _Lint(args)
    if args.diff:
        return work.show_changes()
    if args.fix:
        work.fix()
    return work.report()


class _Lint:
    """The arguments as units: the sources of one argument are checked together."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._settings = settings_of(args)
        self._params = dict(args.param)
        self._units = [tuple(policy_sources(path)) for path in args.paths]
        self._snapshot = load_snapshot(args.snapshot) if args.snapshot else None

    def report(self) -> int:
        """Prints all findings in every format that is asked for."""
        found = [finding for index in range(len(self._units)) for finding in self._findings(index)]
        chosen = [
            self._settings.levelled(finding)
            for finding in dict.fromkeys(found)
            if self._settings.is_chosen(finding.code)
        ]
        findings = Findings.of(chosen, [source for unit in self._units for source in unit])
        outputs = self._args.output or [("full", "")]
        for name, file in outputs:
            write(render(name, findings, is_color=not file and is_color(self._args.color)), file)
        if any(name in ("full", "concise") for name, _ in outputs):
            print(summary(findings), file=sys.stderr)
        has_failed = findings.count(Severity.ERROR) and not self._args.exit_zero
        return FINDINGS if has_failed else FINE

    def fix(self) -> None:
        """Writes the corrected files, and says what was corrected."""
        for index, unit in enumerate(self._units):
            if any(source.name == _STDIN for source in unit):
                raise CannotWorkError("--fix changes files; for stdin there is --diff")
            shipped = next((source for source in unit if not Path(source.name).is_file()), None)
            if shipped is not None:
                raise CannotWorkError(
                    f"{shipped.name} comes with kpolicy: copy it, then correct the copy"
                )
            fixed = self._fixed(index)
            for before, source in zip(unit, fixed.sources, strict=True):
                if before.text != source.text:
                    write_back(Path(source.name), source.encoded)
            self._units[index] = fixed.sources
            for finding in fixed.findings:
                where = place_of(finding)
                print(f"{where}: fixed {finding.code}: {finding.message}", file=sys.stderr)
            if fixed.findings:
                count = len(fixed.findings)
                findings = f"{count} {'finding' if count == 1 else 'findings'}"
                print(f"fixed {findings} in {self._args.paths[index]}", file=sys.stderr)

    def show_changes(self) -> int:
        """Prints the changes that `fix` would make."""
        changes = "".join(
            difference(before.decoded, after.decoded, before.name, after.name)
            for index, unit in enumerate(self._units)
            for before, after in zip(unit, self._fixed(index).sources, strict=True)
        )
        write(changes, "")
        if not changes:
            print("nothing to mend", file=sys.stderr)
        return FINDINGS if changes and not self._args.exit_zero else FINE

    def _fixed(self, index: int) -> Fixed:
        from kpolicy.policy.format.fixes import fixed

        return fixed(
            self._units[index],
            lambda sources: self._compiled(index, sources, None),
            is_unsafe=self._args.unsafe_fixes,
            is_chosen=self._settings.is_chosen,
        )

    def _findings(self, index: int) -> tuple[Diagnostic, ...]:
        """Findings of policies, tests and configurations. Sources without any policy are no
        finding if they hold tests or configurations."""
        sources: Sequence[Source] = self._units[index]
        found: tuple[Diagnostic, ...] = ()
        if any(b"SchedulerConfiguration" in source.encoded for source in sources):
            from kpolicy.scheduler.options import read_configurations

            read = read_configurations(sources)
            found, sources = read.diagnostics, read.others
        of_tests: tuple[Diagnostic, ...] = ()
        if any(b"PolicyTest" in source.encoded for source in sources):
            from kpolicy.offline.policy_tests.session import check_tests

            checked = check_tests(sources, self._params)
            of_tests, sources = checked.diagnostics, checked.others
        if sources:
            found = (*found, *self._compiled(index, sources, self._snapshot).diagnostics)
        return (*found, *of_tests)

    def _compiled(
        self, index: int, sources: Sequence[Source], snapshot: Snapshot | None
    ) -> Compiled:
        if self._args.tenant_of:
            return self._of_tenant(sources)
        others = [s for at, unit in enumerate(self._units) if at != index for s in unit]
        release = self._args.release
        if snapshot is None:
            from kpolicy.policy.compile import compile_policy

            return compile_policy(
                sources,
                release=release,
                feature_gates=self._args.feature_gates,
                library=others,
                params=self._params,
                authority=self._settings.authority,
            )
        from kpolicy.offline.snapshot_lint.lint_snapshot import lint

        return lint(
            sources,
            snapshot,
            release=release,
            feature_gates=self._args.feature_gates,
            library=others,
            params=self._params,
            authority=self._settings.authority,
        )

    def _of_tenant(self, sources: Sequence[Source]) -> Compiled:
        """The sources as the policies of a tenant."""
        from kpolicy.policy.compile import Compiled, compile_policy
        from kpolicy.policy.tenants.composition import compile_tenant
        from kpolicy.policy.tenants.tenant_checks import TenantTerms
        from kpolicy.policy.yaml.source import Tenant

        operator = compile_policy(policy_sources(self._args.tenant_of), params=self._params)
        if operator.program is None:
            where = self._args.tenant_of
            raise CannotWorkError(f"--tenant-of {where}: it has errors; run `kpolicy lint {where}`")
        names = operator.program.scheduler_names
        terms = TenantTerms(self._args.tenant_weight)
        policy = compile_tenant(Tenant("tenant", ("tenant",)), sources, names, terms)
        return Compiled(policy.program, policy.diagnostics)


def render(name: str, findings: Findings, *, is_color: bool) -> str:
    """The findings in the format `name`."""
    texts = {"concise": concise, "github": github}
    if name == "full":
        columns = text_width() if sys.stdout.isatty() else COLUMNS
        return full(findings, is_color=is_color, columns=columns)
    if name in texts:
        return texts[name](findings)
    # Formats for machines need modules that take longer to load than a policy to check.
    from kpolicy.cli.findings_documents import DOCUMENTS

    return DOCUMENTS[name](findings)


LINT: Final = Verb(
    "lint",
    "Check policies, show the place of each finding, and correct what is safe to correct.",
    _main,
    (
        PATHS,
        formats("full", "concise", "json", "jsonl", "github", "sarif", "junit"),
        repeatable(
            "--snapshot",
            "-s",
            metavar="FILE|DIR",
            help="check the rules against this recorded cluster too; repeatable",
        ),
        *SETTINGS_ARGUMENTS,
        PARAM,
        argument(
            "--fix", action="store_true", help="correct what is safe to correct, in the files"
        ),
        argument(
            "--unsafe-fixes",
            action="store_true",
            help="also apply fixes that may not be what you mean",
        ),
        argument(
            "--diff", action="store_true", help="show what --fix would change, and change nothing"
        ),
        argument("--exit-zero", action="store_true", help="exit with 0 even if there are findings"),
        *FOLLOWED,
    ),
    _EPILOG,
)
