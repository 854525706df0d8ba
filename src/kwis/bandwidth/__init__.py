"""Bandwidth selection by cross-validation."""

from kwis.bandwidth.score import cv_score, kernel_mean
from kwis.bandwidth.search import Progress
from kwis.bandwidth.select import select_bandwidth
from kwis.bandwidth.several import select_bandwidths
from kwis.stats.folds import make_folds

__all__ = ["Progress", "cv_score", "kernel_mean", "make_folds", "select_bandwidth", "select_bandwidths"]
