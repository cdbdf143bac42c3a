"""The papers that this one compares itself with: their figures and statements beside ours."""

from takeup import charts
from takeup.charts.document import Judged, ReportFigure, ReportTable
from takeup.paper.agreement import STANDARD_ERRORS
from takeup.paper.document import Chapter, Checked
from takeup.paper.related import RelatedResult
from takeup.paper.related.figures import FigureComparison
from takeup.paper.rules import Claim

PAPERS = {
    "Della Penna et al. (2016)": "Surplus is the reward above that of proposing at random: in the trap world, in the "
    "stroke trial by its columns CMPLASP and CMPLHEP (alive after 14 days, 10,000 patients), and in two worlds of the "
    "authors' code. The row labels of their table are shifted by one; it is read as the code confirms. The text has "
    "2,000 runs, the captions 10,000.",
    "Kallus (2018)": "Four regrets. Rewards are continuous: numbers in steps of a thousandth, with uniform or normal "
    "noise. Beside that the noise lies on 20 equiprobable bins, aligned with the cut at 1.2816, so that all means are "
    "the same. UCB gets utilities rescaled to [0, 1]. Errata: the means of example 1 belong to compliers with "
    "(5, 3, 4); in example 2 nobody complies as printed, and the printed means come out if the class of one eighth "
    "does; figure 3 is impossible at T = 10,000 and right at a million. The constant of UCB is not stated: 8 gives "
    "figure 2 and is taken for the figures, 2 is UCB1.",
    "Bareinboim et al. (2015)": "Six casinos of 1,000 gamblers. Intent is a context, what is proposed is played, and "
    "regret is against the best machine for each intent.",
}
LONG_RUNS = {
    True: "a fiftieth of that, and six at the least, where a run has a million decisions",
    False: "those of a million decisions (figure 3 of Kallus) are left out, and are in `takeup paper related`",
}
RULE = (
    f"A figure agrees where the difference is at most {STANDARD_ERRORS:g} standard errors of both sides together, "
    "and besides what the figure leaves open: half a unit of its last digit, or what cannot be read off a chart."
)


def chapter(result: RelatedResult) -> Chapter:
    """A table and the claims for each paper, the figures that disagree, and a chart of all distances."""
    agree, hold = sum(f.agrees for f in result.figures), sum(s.holds for s in result.statements)
    return Chapter(
        title="The papers that it compares itself with (related work)",
        verdict=f"{agree} of {len(result.figures)} figures agree, {hold} of {len(result.statements)} statements hold.",
        text=(
            f"{result.replications:,} runs of each policy; {LONG_RUNS[result.long]}.",
            RULE,
            *(f"{paper}: {what}" for paper, what in PAPERS.items()),
        ),
        checked=tuple(
            Checked(
                f"What {paper} say, and whether the runs bear it out",
                tuple(
                    Claim(f"{s.source}: {s.claim}", s.rule, s.holds, s.found)
                    for s in result.statements
                    if s.paper == paper
                ),
            )
            for paper in PAPERS
        ),
        tables=(_apart(result), _bins(result), *(_table(result, paper) for paper in PAPERS)),
        figures=(
            ReportFigure(
                "related",
                "How far each measured figure lies from the published one, as a share of what the rule allows. The "
                "band is agreement.",
                f"{agree} of {len(result.figures)} points lie in the band. Apart: {_list(result)}.",
                lambda: charts.agreement(
                    [{"paper": f.paper, "experiment": f.experiment, "distance": f.distance} for f in result.figures]
                ),
            ),
        ),
    )


def _table(result: RelatedResult, paper: str) -> ReportTable:
    rows = tuple(
        (*_what(f), f.published.basis, shown(f.published.value), Judged(_ours(f), f.agrees), shown(f.allowed))
        for f in result.figures
        if f.paper == paper
    )
    columns = ("experiment", "policy", "quantity", "where from", "published", "measured", "may differ by")
    return ReportTable(f"{paper}: published figures beside ours ± Monte Carlo error", columns, rows, words=4)


def _apart(result: RelatedResult) -> ReportTable:
    rows = tuple(
        (f.paper, *_what(f), f.published.basis, f.published.note, shown(f.published.value), _ours(f))
        for f in result.figures
        if not f.agrees
    )
    columns = ("paper", "experiment", "policy", "quantity", "where from", "to be known", "published", "measured")
    return ReportTable("The figures that lie apart", columns, rows, words=6)


def _bins(result: RelatedResult) -> ReportTable:
    found = {_key(f): f for f in result.figures}
    pairs = [(found[_key(binned)], binned) for binned in result.binned]
    rows = tuple(
        (*_what(f), f.published.basis, shown(f.published.value), Judged(_ours(f), f.agrees), Judged(_ours(b), b.agrees))
        for f, b in pairs
    )
    columns = ("experiment", "policy", "quantity", "where from", "published", "continuous", "on 20 bins")
    return ReportTable("Kallus (2018): continuous rewards beside the noise on 20 bins", columns, rows, words=4)


def _key(figure: FigureComparison) -> tuple[str, ...]:
    return figure.source, *_what(figure)


def _list(result: RelatedResult) -> str:
    apart = [f"{f.policy} in {f.experiment}, {f.quantity}" for f in result.figures if not f.agrees]
    return "; ".join(apart) or "none"


def _what(figure: FigureComparison) -> tuple[str, str, str]:
    return figure.experiment, figure.policy, figure.quantity


def _ours(figure: FigureComparison) -> str:
    return shown(figure.measured) + (f" ± {shown(figure.mcse)}" if figure.mcse else "")


def shown(value: float) -> str:
    """Four digits, and all of a large number."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 1 else f"{value:.4g}"
