"""Past the paper: pipelines that repair propensities, model rewards, choose bandwidths otherwise and
recommend an estimator.

They run on the same cells, logs and test sets as the paper's estimators and are stored beside them: columns
-> workshop (what the cells of a dataset share) -> pipelines of a cell -> runner -> store -> tables, figures,
page.
"""
