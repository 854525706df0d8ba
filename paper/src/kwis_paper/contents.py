"""Every table and figure of the paper, by the label in its source, and where ours stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kwis_paper.figures import Figure
from kwis_paper.tables import Table

TABLES = {
    "tbl:dataset_summary_stats": "Datasets",
    "tbl:overall_results": "Overall errors",
    "tbl:overall_results_mm": "75th and 100th percentile predictions",
    "tbl:k_wis_wis_oracle_results": "WIS and Kernel-WIS, oracle",
    "tbl:k_wis_wis_oracle_width": "Coverage, oracle",
    "tbl:k_wis_wis_non_oracle_results": "WIS and Kernel-WIS, non-oracle",
    "tbl:k_wis_wis_non_oracle_width": "Coverage, non-oracle",
    "tbl:k_wis_wis_cont_results": "Single-action and continuous rewards",
    "tbl:overall_results_wis_optim": "Shared and per-feature bandwidths",
    "tbl:assump_justi": "Assumptions (appendix A)",
    "tbl:k_wis_wis_oracle_results_learnt_policies": "Learnt logging policies, oracle (appendix D)",
    "tbl:k_wis_wis_non_oracle_results_learnt_policies": "Learnt logging policies, non-oracle (appendix D)",
}
FIGURES = {
    "fig:summary_performance_oracle": "Kernel-WIS against WIS by size and action dimension, oracle",
    "fig:both_cov_prop_oracle": "Coverage by size, oracle",
    "fig:summary_performance_non_oracle": "Kernel-WIS against WIS by size and action dimension, non-oracle",
    "fig:both_cov_prop_non_oracle": "Coverage by size, non-oracle",
    "fig:mean_dists_cont_reward": "Heatmap of continuous rewards",
    "fig:optdigit_data_examps": "Digit samples",
    "fig:kwis_optim_unique_bw_mean_ovr_std_oracle": "Spread of per-feature bandwidths",
    "fig:mean_mean_dist_by_ds_oracle": "Average kernel value",
    "fig:summary_performance_cont_policy": (
        "Kernel-WIS against WIS by action dimension, learnt logging policies"
    ),
    "fig:vae_training_metrics": "Training of the autoencoder (appendix C)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A table or figure of the paper and the keys of ours that reproduce it; ``empty`` if all of ours lack
    results.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    empty: bool


def contents(tables: Iterable[Table], figures: Iterable[Figure]) -> list[Item]:
    """The paper's list of tables, then that of its figures."""
    made, drawn = list(tables), list(figures)
    listed = []
    for number, (label, title) in enumerate(TABLES.items(), start=1):
        mine = [table for table in made if table.label == label]
        empty = not any(line.entries for table in mine for line in table.lines)
        listed.append(
            Item(name=f"Table {number}", title=title, keys=tuple(table.key for table in mine), empty=empty)
        )
    for number, (label, title) in enumerate(FIGURES.items(), start=1):
        shown = [figure for figure in drawn if figure.label == label]
        empty = not any(figure.panels for figure in shown)
        listed.append(
            Item(
                name=f"Figure {number}", title=title, keys=tuple(figure.key for figure in shown), empty=empty
            )
        )
    return listed
