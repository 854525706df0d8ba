"""The report of a real evaluation, from the log to the file."""

from __future__ import annotations

from kwis import InfluenceInterval
from kwis.data.sample_log import sample_log
from kwis.evaluation.run import evaluate
from tests.report.checked import Checked


def test_the_sample_log_becomes_a_report_that_names_the_wrong_region(tmp_path):
    log = sample_log(1500).read(reward="click")
    evaluation = evaluate(
        log,
        "p_new",
        estimators=["wis", "normalised-kernel-wis"],
        interval=InfluenceInterval(),
        by=["country"],
    )
    path = evaluation.to_html(tmp_path / "report.html")
    page = Checked(path.read_text(encoding="utf-8"))
    assert len(page.places("h1")) == 1
    assert max(page.ids().values()) == 1
    assert "country = BR" in " ".join(page.text_of("li"))
    assert "country = BR" in page.text_of("header")[0]
    found = evaluation.recommended["p_new"]
    assert f"{found.row.interval.value:.3f}" in page.text_of("header")[0]
    assert f"+{found.change.interval.value:.3f}" in page.text_of("header")[0]
