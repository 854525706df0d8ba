"""What the paper claims in prose, and what we find under each truth."""

from __future__ import annotations

from dataclasses import dataclass

from kwis_paper.findings import errors as find
from kwis_paper.findings import others
from kwis_paper.findings.record import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim, where it stands in the paper, and the function that looks for it in results."""

    key: str
    section: str
    words: str
    look: Look


CLAIMS = (
    Claim(
        key="oracle-same",
        section="1.4, 6",
        words=(
            "Under oracle behaviour policies the two perform statistically identically in the majority of "
            "cases."
        ),
        look=find.mostly_equal,
    ),
    Claim(
        key="oracle-11",
        section="3.2.3",
        words="“On only 11 occasions” do they differ significantly, and on all but one Kernel-WIS is better.",
        look=find.significant_oracle,
    ),
    Claim(
        key="oracle-rows",
        section="3.2.3",
        words="By the number of rows won, WIS is ahead under oracle behaviour policies.",
        look=find.rows_won_oracle,
    ),
    Claim(
        key="oracle-median",
        section="3.2.3",
        words="By the median over each dataset's rows, Kernel-WIS is ahead under oracle behaviour policies.",
        look=find.median_oracle,
    ),
    Claim(
        key="oracle-margin",
        section="3.2.3, 6",
        words=(
            "WIS only marginally outperforms Kernel-WIS, Kernel-WIS can drastically outperform WIS (oracle)."
        ),
        look=find.margins("oracle"),
    ),
    Claim(
        key="oracle-trend",
        section="3.2.3",
        words=(
            "The share of rows won has a non-linear relation to sample size or a noisy linear one to "
            "action dimension."
        ),
        look=find.trend,
    ),
    Claim(
        key="bounded",
        section="3.2.2",
        words="The predictions of Kernel-WIS stay bounded where those of VIS do not.",
        look=find.bounded,
    ),
    Claim(
        key="overall-non-oracle",
        section="3.2.2",
        words="In all non-oracle settings, where VIS has a large variance, Kernel-WIS performs optimally.",
        look=find.best_non_oracle,
    ),
    Claim(
        key="state-wis",
        section="3.2.2",
        words="State-WIS is consistently sub-optimal, so the logging policy's return alone is not enough.",
        look=find.state_wis,
    ),
    Claim(
        key="oracle-coverage",
        section="3.2.3",
        words="Oracle coverage is similar but for pendigits, and differs by at most 6 %.",
        look=others.coverage_gap("oracle"),
    ),
    Claim(
        key="non-oracle-better",
        section="1.4, 3.2.4, 6",
        words=(
            "Under non-oracle behaviour policies Kernel-WIS is significantly better in the majority of cases."
        ),
        look=find.mostly_better,
    ),
    Claim(
        key="non-oracle-median",
        section="3.2.4",
        words="By the median, Kernel-WIS strongly outperforms WIS under non-oracle behaviour policies.",
        look=find.median_non_oracle,
    ),
    Claim(
        key="non-oracle-margin",
        section="3.2.4, 6",
        words="Again WIS wins only marginally and Kernel-WIS drastically (non-oracle).",
        look=find.margins("non-oracle"),
    ),
    Claim(
        key="non-oracle-coverage",
        section="3.2.4, 5.2",
        words="Non-oracle coverage follows the pointwise error, and Kernel-WIS loses some.",
        look=others.coverage_follows_error,
    ),
    Claim(
        key="optdigits",
        section="5.1",
        words=(
            "Optdigits is the exception on which Kernel-WIS is not better under non-oracle behaviour "
            "policies."
        ),
        look=find.optdigits,
    ),
    Claim(
        key="continuous",
        section="1.4, 3.2.5, 6",
        words="Under continuous rewards Kernel-WIS degrades significantly, for reasons left open.",
        look=find.continuous,
    ),
    Claim(
        key="heatmap",
        section="3.2.5",
        words="Predicting 9 where 3 is right earns a relatively high reward, predicting 6 a low one.",
        look=others.digits,
    ),
    Claim(
        key="unique",
        section="3.2.6",
        words="Per-feature bandwidths are worse or equivalent in all but one instance.",
        look=others.per_feature,
    ),
    Claim(
        key="unique-spread",
        section="3.2.6",
        words=(
            "The bandwidths of different features vary considerably, and the average kernel value is "
            "smaller than with a shared one."
        ),
        look=others.kernel_values,
    ),
    Claim(
        key="learnt-uniform",
        section="3.2.7",
        words=(
            "With learnt logging policies Kernel-WIS “uniformly outperforms” WIS in aggregation, non-oracle."
        ),
        look=find.uniform,
    ),
    Claim(
        key="learnt-oracle",
        section="3.2.7",
        words=(
            "With learnt logging policies the worst and the best case are better than with Gibbs ones, "
            "oracle."
        ),
        look=find.learnt_oracle,
    ),
    Claim(
        key="epochs",
        section="D",
        words="On optdigits the linear classifier reaches 0.97, and epochs 6 and 46 are used.",
        look=others.epochs,
    ),
    Claim(
        key="vae",
        section="C",
        words="Both parts of the autoencoder's loss settle away from 0.",
        look=others.autoencoder,
    ),
    Claim(
        key="always",
        section="5.1, 6",
        words="Kernel-WIS should arguably always be preferred.",
        look=find.always,
    ),
    Claim(
        key="cost",
        section="3.1.3",
        words="The experiments of a larger dataset took up to 24 hours.",
        look=others.cost,
    ),
)
