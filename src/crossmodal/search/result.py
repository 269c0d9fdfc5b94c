"""Items and results as they are shown."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Described:
    """An item.

    Args:
        id: Of the item; in a folder its path.
        text: Its text, if that is known.
        labels: Its labels, if it has some.
    """

    id: str
    text: str
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Result(Described):
    """An item that a search returns.

    Args:
        rank: From 1.
        score: The method's score of query and item; higher is better.
        z_score: By how many standard deviations of the scores of all items this one is above
            their mean; None if they are all equal, or only some items were compared.
        common: Words that the model knows, in the query and in the item's text.
    """

    rank: int
    score: float
    z_score: float | None
    common: tuple[str, ...]
