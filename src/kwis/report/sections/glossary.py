"""What the estimators are, in a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def glossary(sentences: Mapping[str, str]) -> Iterator[str]:
    """The sentence of each estimator, by name, as it describes itself; estimators that do not are
    left out.
    """
    return (f"{name}: {sentence.rstrip('.')}." for name, sentence in sentences.items() if sentence)
