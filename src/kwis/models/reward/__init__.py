"""Reward models for the direct method and doubly robust estimators."""

from kwis.models.reward.mrdr import mrdr_weights
from kwis.models.reward.predict import PredictedRewards, predict_rewards
from kwis.models.reward.predicted import PredictedSample

__all__ = ["PredictedRewards", "PredictedSample", "mrdr_weights", "predict_rewards"]
