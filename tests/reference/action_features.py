"""Weights over features of the actions and what is made of them, row by row; nothing imported from the
package.
"""


def weights(target, logging, action, features):
    """``p(e|s)`` of the target over that of the logger, ``e`` the features of the logged action."""
    found = []
    for evaluated, logged, a in zip(target, logging, action, strict=True):
        alike = [k for k in range(len(features)) if features[k] == features[a]]
        found.append(sum(evaluated[k] for k in alike) / sum(logged[k] for k in alike))
    return found


def effective_n(target, logging, features):
    """Effective rows that logs of these contexts have on average: ``n^2 / sum E[w^2 | s]``."""
    squares = 0.0
    for evaluated, logged in zip(target, logging, strict=True):
        for feature in set(features):
            alike = [k for k in range(len(features)) if features[k] == feature]
            chance = sum(logged[k] for k in alike)
            if chance > 0:
                squares += sum(evaluated[k] for k in alike) ** 2 / chance
    return len(target) ** 2 / squares


def offcem(target, logging, action, features, reward, predicted):
    """Conjunct effect model: what a model of actions predicts, and its errors weighted over features."""
    total = 0.0
    for i, weight in enumerate(weights(target, logging, action, features)):
        of_policy = sum(p * q for p, q in zip(target[i], predicted[i], strict=True))
        total += of_policy + weight * (reward[i] - predicted[i][action[i]])
    return total / len(reward)
