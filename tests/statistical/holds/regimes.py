"""Every regime of the study, by the question it asks."""

from tests.statistical.holds.misreports import MISREPORTS
from tests.statistical.holds.spec import (
    CoarseLogger,
    ConstantTarget,
    EpsilonLogger,
    GreedyTarget,
    OpposedLogger,
    Regime,
    RulesLogger,
    SmallestLogger,
    SoftmaxLogger,
    SoftmaxTarget,
    TailLogger,
    TiltedTarget,
    TrainedTarget,
    UniformLogger,
    Users,
)

MILD, MODERATE, HEAVY = TiltedTarget(0.7), TiltedTarget(0.35), TiltedTarget(0.15)


def _softmax():
    for n in (500, 2000):
        for actions, target, reward, where in (
            (2, MILD, "binary", "numbers"),
            (2, MODERATE, "gaussian", "mixed"),
            (5, MILD, "gaussian", "mixed"),
            (5, MODERATE, "binary", "numbers"),
            (10, MODERATE, "binary", "mixed"),
        ):
            weights = "mild" if target is MILD else "moderate"
            yield Regime(
                name=f"softmax/K{actions} n{n} {reward} {weights}",
                n=n,
                actions=actions,
                targets=(target,),
                reward=reward,
                contexts=where,
            )
    yield Regime(name="softmax/rugged K3 n2000", actions=3, surface="rugged", targets=(MODERATE,))
    yield Regime(name="softmax/almost flat K3 n500", n=500, actions=3, effect=0.05, targets=(MODERATE,))


def _uniform():
    target = (SoftmaxTarget(1.0),)
    for actions in (2, 3, 5, 6, 7, 12, 20, 50):
        for n in (500, 2000):
            yield Regime(
                name=f"uniform/K{actions} n{n}", n=n, actions=actions, logger=UniformLogger(), targets=target
            )
    for actions in (3, 6):
        made = {"n": 1000, "actions": actions, "logger": UniformLogger(), "contexts": "mixed"}
        yield Regime(
            name=f"uniform/ABn K{actions} logged only", given="logged", targets=(ConstantTarget(),), **made
        )


def _epsilon_greedy():
    for epsilon in (0.05, 0.1, 0.2):
        for n in (1000, 5000):
            for label, target in (
                ("deterministic", GreedyTarget(near=3.0)),
                ("softmax", SoftmaxTarget(1.5, near=2.0)),
            ):
                made = {"n": n, "logger": EpsilonLogger(epsilon), "targets": (target,), "few": n > 2000}
                yield Regime(
                    name=f"epsilon/{epsilon} n{n} {label}",
                    contexts="mixed" if label == "softmax" else "numbers",
                    **made,
                )
    close = GreedyTarget(epsilon=0.3, near=100.0)  # weights of 0.9 and 1.5 nearly everywhere
    yield Regime(name="epsilon/0.2 K2 n500", n=500, actions=2, logger=EpsilonLogger(0.2), targets=(close,))


def _small_propensities():
    for smallest in (0.03, 0.005):
        for given in ("all", "logged"):
            for n in (500, 2000):
                name = f"small/{smallest} n{n} {given}"
                yield Regime(
                    name=name,
                    n=n,
                    actions=3,
                    logger=SmallestLogger(smallest),
                    given=given,
                    targets=(MODERATE,),
                )
        yield Regime(
            name=f"small/{smallest} n20000 all",
            n=20_000,
            actions=3,
            logger=SmallestLogger(smallest),
            few=True,
        )
    three = (TiltedTarget(0.5), SoftmaxTarget(1.0), GreedyTarget())
    yield Regime(
        name="small/three targets K3 n500", n=500, actions=3, logger=SmallestLogger(0.02), targets=three
    )
    yield Regime(name="small/n200 K3", n=200, actions=3, logger=SmallestLogger(0.02))
    for actions in (20, 50):
        yield Regime(
            name=f"small/K{actions} n2000", actions=actions, logger=SoftmaxLogger(1.0), targets=(MODERATE,)
        )
    yield Regime(
        name="small/K20 n2000 logged",
        actions=20,
        logger=SoftmaxLogger(1.0),
        targets=(MODERATE,),
        given="logged",
    )
    yield Regime(
        name="small/rules n1000", n=1000, actions=4, logger=RulesLogger(), targets=(GreedyTarget(near=0.5),)
    )


def _tails():
    yield Regime(name="tail/discrete context n1000", n=1000, actions=3, contexts="grid", targets=(MODERATE,))
    yield Regime(
        name="tail/discrete context greedy n1000",
        n=1000,
        actions=3,
        contexts="grid",
        targets=(GreedyTarget(),),
    )
    yield Regime(
        name="tail/two digits n1000",
        n=1000,
        actions=3,
        logger=CoarseLogger(0.01),
        targets=(SoftmaxTarget(1.0, step=0.01),),
    )
    yield Regime(
        name="tail/tenths n1000", n=1000, actions=3, logger=CoarseLogger(0.1), targets=(GreedyTarget(),)
    )
    yield Regime(
        name="tail/Pareto n2000",
        actions=3,
        contexts="tail",
        logger=TailLogger(3.0),
        targets=(GreedyTarget(epsilon=0.5), ConstantTarget()),
    )


def _copies():
    for label, target in (("softmax", MODERATE), ("deterministic", GreedyTarget())):
        yield Regime(
            name=f"thinned/{label}", n=7000, actions=3, rows="thinned", reward="clicks", targets=(target,)
        )
    yield Regime(name="copies/three times", n=500, actions=3, rows="three times", targets=(MODERATE,))
    yield Regime(
        name="copies/three times K5",
        n=700,
        actions=5,
        rows="three times",
        contexts="mixed",
        targets=(MODERATE,),
    )
    yield Regime(name="copies/some twice", n=1000, actions=3, rows="some twice", targets=(MODERATE,))


def _users():
    for count, rows in ((40, 25), (200, 5)):
        for mood in (0.0, 1.0):
            for declared in (True, False):
                made = {
                    "n": count * rows,
                    "actions": 3,
                    "targets": (MILD,),
                    "users": Users(count, rows, mood, declared),
                }
                label = f"{count} of {rows}{' with moods' if mood else ''}{'' if declared else ' undeclared'}"
                yield Regime(name=f"users/{label}", family=f"users {count} {mood}", **made)


def _missing():
    for actions in (2, 3):
        for n in (1000, 3000):
            for label, target in (("constant", ConstantTarget()), ("softmax", SoftmaxTarget(1.0))):
                made = {
                    "n": n,
                    "actions": actions,
                    "targets": (target,),
                    "surface": "rugged",
                    "confounded": True,
                    "given": "none",
                }
                yield Regime(
                    name=f"missing/K{actions} n{n} {label}", kind="missing", logger=SoftmaxLogger(0.8), **made
                )


def _misreports():
    shared = {
        "kind": "misreport",
        "actions": 3,
        "contexts": "mixed",
        "logger": SoftmaxLogger(1.0),
        "targets": (TiltedTarget(0.5),),
    }
    weak = {**shared, "dose": 0.35, "tests_only": True, "contexts": "numbers", "actions": 5}
    for family, made in (("misreport", shared), ("weak misreport", weak)):
        for kind in MISREPORTS:
            for given in ("all", "logged"):
                if (kind, given) != ("clipped", "all"):
                    yield Regime(
                        name=f"{family}/{kind}, {given}", family=family, misreport=kind, given=given, **made
                    )
    extreme = {"n": 2000, "actions": 3, "targets": (MODERATE,), "given": "logged", "family": "extreme"}
    yield Regime(name="extreme/right, logged", logger=SmallestLogger(0.002), **extreme)
    yield Regime(
        name="extreme/too extreme, logged",
        kind="misreport",
        misreport="too extreme",
        logger=SmallestLogger(0.002),
        **extreme,
    )
    yield Regime(
        name="extreme/clipped, logged",
        kind="misreport",
        misreport="clipped",
        logger=SmallestLogger(0.002),
        **extreme,
    )


def _skewed():
    two = (MODERATE, SoftmaxTarget(1.0))
    for label, targets in (("one target", (MODERATE,)), ("two targets", two)):
        yield Regime(name=f"skewed/revenue {label}", n=1000, actions=3, reward="revenue", targets=targets)
        yield Regime(name=f"skewed/conversions {label}", actions=3, reward="conversions", targets=targets)


def _heavy():
    yield Regime(name="heavy/deterministic K5", logger=OpposedLogger(0.05), targets=(GreedyTarget(),))
    yield Regime(
        name="heavy/deterministic K5 gaussian",
        logger=OpposedLogger(0.05),
        targets=(GreedyTarget(),),
        reward="gaussian",
    )
    yield Regime(name="heavy/softmax K5", logger=SoftmaxLogger(1.3), targets=(TiltedTarget(0.08),))
    yield Regime(name="segments/6 of 100", n=600, actions=3, contexts="segments", targets=(HEAVY,))
    yield Regime(
        name="segments/6 of 100 deterministic",
        n=600,
        actions=3,
        contexts="segments",
        targets=(GreedyTarget(),),
    )


def _policies():
    ten = tuple(TiltedTarget(share) for share in (0.8, 0.7, 0.6, 0.5, 0.4)) + tuple(
        SoftmaxTarget(s) for s in (0.3, 0.5, 0.7, 0.9, 1.1)
    )
    yield Regime(name="ten/equal n2000", actions=3, effect=0.0, targets=ten)
    yield Regime(name="ten/equal gaussian n500", n=500, actions=3, effect=0.0, targets=ten, reward="gaussian")
    yield Regime(name="trained/on its own log", kind="trained", actions=3, targets=(TrainedTarget(),))
    yield Regime(
        name="trained/on its own log gaussian",
        kind="trained",
        actions=3,
        targets=(TrainedTarget(),),
        reward="gaussian",
    )
    for label, given in (("reported", "all"), ("missing", "none")):
        yield Regime(
            name=f"hidden/confounder {label}",
            kind="hidden",
            family="hidden",
            actions=3,
            given=given,
            targets=(SoftmaxTarget(0.8),),
        )


def all_regimes():
    """By name, in the order of the page."""
    parts = (
        _softmax,
        _uniform,
        _epsilon_greedy,
        _small_propensities,
        _tails,
        _copies,
        _users,
        _missing,
        _misreports,
        _skewed,
        _heavy,
    )
    made = [regime for part in (*parts, _policies) for regime in part()]
    names = [regime.name for regime in made]
    assert len(set(names)) == len(names), "two regimes of the same name"
    return {regime.name: regime for regime in made}
