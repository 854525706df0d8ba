"""What an evaluation says in print about which policy is better, and whether that is true.

Only the text is read, so that the words are judged and not the numbers behind them.
"""

import re

LOGGING = "logging policy"
NOTHING = 1e-9  # differences of equal policies are rounding


def claims_in(text, targets):
    """Pairs of policies, the first of which the text says is better than the second; ``None`` stands for all
    others.
    """
    said = " ".join(text.split("Can it be trusted?")[0].split())
    names = "|".join(re.escape(name) for name in (*targets, LOGGING))
    found = []
    for name in targets:
        verdict = re.search(
            rf"(?<!\w){re.escape(name)}: (?:(?!(?:{names}): ).)*?(not \w* ?)?\b(better|worse) than the "
            rf"{LOGGING}",
            said,
        )
        if verdict and not verdict.group(1):
            found.append((name, LOGGING) if verdict.group(2) == "better" else (LOGGING, name))
    found += [(match.group(1), None) for match in re.finditer(rf"(?<!\w)({names}) is best", said)]
    for match in re.finditer(rf"(?<!\w)({names}) is worse than ((?:(?:{names})(?:, | and )?)+)", said):
        found += [(better, match.group(1)) for better in re.findall(names, match.group(2))]
    return list(dict.fromkeys(found))


def false_claims(text, truth):
    """The claims that are not true; a policy is best only if it is better than every other."""
    values = {**truth.targets, LOGGING: truth.logging}
    wrong = []
    for better, other in claims_in(text, list(truth.targets)):
        rivals = [name for name in values if name != better] if other is None else [other]
        if any(values[better] <= values[rival] + NOTHING for rival in rivals):
            wrong.append(f"{better} > {other or 'all'}")
    return wrong
