"""Reward models for the direct method and doubly robust estimators."""

from kwis.outcome.predict import PredictedRewards, predict_rewards
from kwis.outcome.sample import PredictedSample

__all__ = ["PredictedRewards", "PredictedSample", "predict_rewards"]
