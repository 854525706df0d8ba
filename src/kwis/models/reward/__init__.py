"""Reward models for the direct method and doubly robust estimators."""

from kwis.models.reward.predict import PredictedRewards, predict_rewards
from kwis.models.reward.predicted import PredictedSample

__all__ = ["PredictedRewards", "PredictedSample", "predict_rewards"]
