"""What the paper says of its datasets, and what their files must hold.

The faulty-action sets are those of the paper's dataset table, the rest is what OpenML holds; where the two
differ, ``notes`` says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwis import InputError

TITLE = "Kernel weighted importance sampling for off-policy evaluation in contextual bandits"
AUTHORS = "Joshua Spear, Matthieu Komorowski, Rebecca Pope and Erica EM Moodie"
YEAR = "undated preprint, its latest reference of 2025"
PAPER = f"“{TITLE}” by {AUTHORS} ({YEAR})"
"""How the paper is named where it is introduced."""
FaultySets = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSpec:
    """A dataset of the paper.

    Attributes
    ----------
    rows, features, columns
        Rows, features as published on OpenML, and columns once categorical features are one-hot encoded.
    class_counts
        Rows of each class, classes in the order of their names as text.
    class_names_known
        False if the names of the classes are reconstructed, so that only the multiset of ``class_counts`` can
        be checked.
    sha256
        Of the Parquet file known to hold it.
    paper_rows, paper_state_dim
        What the paper's dataset table prints.
    """

    name: str
    openml_id: int | None
    rows: int
    features: int
    columns: int
    class_counts: tuple[int, ...]
    faulty: FaultySets
    sha256: str = ""
    class_names_known: bool = True
    paper_rows: int | None = None
    paper_state_dim: str = ""
    previous_work: bool = False
    notes: tuple[str, ...] = ()

    @property
    def n_actions(self) -> int:
        return len(self.class_counts)


def _sets(text: str) -> FaultySets:
    return tuple(
        tuple(int(action) for action in part.split(",") if action.strip()) for part in text.split(";")
    )


_UP_TO_5 = _sets(";0;1;0,1;0,1,2;0,1,2,3;0,1,2,3,4")
_UP_TO_6 = _sets(";0;1;0,1;0,1,2;0,1,2,4;0,1,2,4,6;0,1,2,4,6,8")
_OPTDIGITS_COUNTS = (554, 571, 557, 572, 568, 558, 558, 566, 554, 562)
_OPTDIGITS_SHA256 = "87dc6ac7d85e2a9c579dd454eea85f46bd8517c42a6c3b334f15f694588c83a9"

_SPECS = (
    DatasetSpec(
        name="arrhythmia",
        openml_id=5,
        rows=452,
        features=279,
        columns=279,
        class_counts=(245, 50, 4, 5, 22, 44, 15, 15, 13, 25, 3, 2, 9),
        faulty=_sets(";0;1;0,1;0,1,2;0,1,2,3;0,1,2,3,4;0,1,2,3,5"),
        sha256="adf17167c57cf1bb205d3be63b9c82b0c3c910a3e5d38eb48c81d30ef29f94b0",
        paper_rows=1754,
        paper_state_dim="279",
        notes=(
            (
                "arrhythmia has 452 rows on OpenML and 1,754 in the paper; its class shares fit the "
                "published "
                "counts, its errors cannot match"
            ),
        ),
    ),
    DatasetSpec(
        name="soybean",
        openml_id=42,
        rows=683,
        features=35,
        columns=132,
        class_counts=(16, 91, 44, 20, 20, 92, 44, 20, 14, 15, 20, 20, 91, 8, 20, 88, 20, 20, 20),
        faulty=_UP_TO_6,
        sha256="d6cf32d726d20d2f34defecb605e91569a7d8762b5dfef50ee55145cc5c4bada",
        paper_rows=683,
        paper_state_dim="35 (132)",
    ),
    DatasetSpec(
        name="micro-mass",
        openml_id=1515,
        rows=571,
        features=1300,
        columns=1300,
        class_counts=(50, 24, 29, 21, 31, 18, 32, 31, 60, 27, 20, 26, 28, 52, 29, 14, 16, 26, 11, 26),
        class_names_known=False,
        faulty=_UP_TO_6,
        sha256="ad3acbec9ffba085fe75759fe1098f61e80d301fb2eafc9cb4a9704390efe705",
        paper_rows=571,
        paper_state_dim="1,300",
        notes=(
            (
                "the class codes of micro-mass are reconstructed where its Parquet file is used; another "
                "coding "
                "permutes class names"
            ),
        ),
    ),
    DatasetSpec(
        name="optdigits",
        openml_id=28,
        rows=5620,
        features=64,
        columns=64,
        class_counts=_OPTDIGITS_COUNTS,
        faulty=_UP_TO_5,
        sha256=_OPTDIGITS_SHA256,
        paper_rows=5620,
        paper_state_dim="64",
        previous_work=True,
    ),
    DatasetSpec(
        name="optdigitsDist",
        openml_id=28,
        rows=5620,
        features=64,
        columns=64,
        class_counts=_OPTDIGITS_COUNTS,
        faulty=_UP_TO_5,
        sha256=_OPTDIGITS_SHA256,
        paper_rows=5620,
        paper_state_dim="64",
        notes=(
            (
                "optdigitsDist is optdigits with continuous rewards from the latent space of a variational "
                "autoencoder"
            ),
        ),
    ),
    DatasetSpec(
        name="yeast",
        openml_id=181,
        rows=1484,
        features=8,
        columns=8,
        class_counts=(463, 5, 35, 44, 51, 163, 244, 429, 20, 30),
        faulty=_UP_TO_5,
        sha256="1e1898429b9a473b6f181c15889f140f8ea9f38e7b1eee5bf72270a00cf2b791",
        paper_rows=1484,
        paper_state_dim="6",
        previous_work=True,
        notes=("the paper prints a state dimension of 6 for yeast, which has 8 features",),
    ),
    DatasetSpec(
        name="page-blocks",
        openml_id=30,
        rows=5473,
        features=10,
        columns=10,
        class_counts=(4913, 329, 28, 88, 115),
        faulty=_sets(";0;1;0,1;0,1,2"),
        sha256="23281dbea4b440620aa90779abeec9de3245d3d20f1d4e2e799062aa28361873",
        paper_rows=5473,
        paper_state_dim="6",
        previous_work=True,
        notes=("the paper prints a state dimension of 6 for page-blocks, which has 10 features",),
    ),
    DatasetSpec(
        name="pendigits",
        openml_id=32,
        rows=10992,
        features=16,
        columns=16,
        class_counts=(1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055),
        faulty=_UP_TO_5,
        sha256="72e59769b4b9ecc8dddb8b775ddebb7a729c664271831f4ffa9bf21f2591eb3c",
        paper_rows=10992,
        paper_state_dim="6",
        previous_work=True,
        notes=("the paper prints a state dimension of 6 for pendigits, which has 16 features",),
    ),
    DatasetSpec(
        name="letter",
        openml_id=6,
        rows=20000,
        features=16,
        columns=16,
        class_counts=(
            789,
            766,
            736,
            805,
            768,
            775,
            773,
            734,
            755,
            747,
            739,
            761,
            792,
            783,
            753,
            803,
            783,
            758,
            748,
            796,
            813,
            764,
            752,
            787,
            786,
            734,
        ),
        faulty=_UP_TO_6,
        sha256="75fc837628825ab140e42b8cb01896158d5a3b9951a4b1eccac21331d7745364",
        paper_rows=20000,
        paper_state_dim="6",
        previous_work=True,
        notes=("the paper prints a state dimension of 6 for letter, which has 16 features",),
    ),
    DatasetSpec(
        name="kropt",
        openml_id=184,
        rows=28056,
        features=6,
        columns=40,
        class_counts=(
            2796,
            1433,
            2854,
            2166,
            471,
            198,
            4553,
            1712,
            78,
            683,
            592,
            390,
            1985,
            4194,
            81,
            3597,
            246,
            27,
        ),
        faulty=_UP_TO_6,
        sha256="b81098f2ec73feb148a896feee0b31ba0c325508637c1d034628dfb5fce85954",
        paper_rows=28056,
        paper_state_dim="6 (40)",
        previous_work=True,
    ),
    DatasetSpec(
        name="digits",
        openml_id=None,
        rows=1797,
        features=64,
        columns=64,
        class_counts=(178, 182, 177, 183, 181, 182, 181, 179, 174, 180),
        faulty=_UP_TO_5,
        notes=(
            (
                "digits is the test part of optdigits, bundled with scikit-learn; the paper has no results "
                "for "
                "it"
            ),
        ),
    ),
)

SPECS = {spec.name: spec for spec in _SPECS}
PAPER_DATASETS = tuple(spec.name for spec in _SPECS if spec.paper_rows is not None)


def spec_of(name: str) -> DatasetSpec:
    """Look a dataset of the paper up by name."""
    if name not in SPECS:
        raise InputError(
            f"`dataset` must be one of {', '.join(SPECS)} or a table with a label column, got {name!r}"
        )
    return SPECS[name]


def default_faulty(n_actions: int) -> FaultySets:
    """Faulty-action sets for a dataset of one's own.

    By the paper's rule sets of up to 5 actions, 6 from 16 classes on; and always at least two actions that no
    policy gets wrong.
    """
    longest = max(0, min(5 if n_actions <= 15 else 6, n_actions - 2))
    singles: FaultySets = ((), (0,), (1,)) if n_actions > 2 else ((), (0,))
    return singles + tuple(tuple(range(length)) for length in range(2, longest + 1))
