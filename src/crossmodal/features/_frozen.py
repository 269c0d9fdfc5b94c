"""What all features share that a frozen network computes: its weights, which must stay the same."""

from pathlib import Path
from typing import Any

from crossmodal.data.feature import Feature
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import sha256


class FrozenFeature(Feature):
    """Rows that a frozen network computes.

    Attributes:
        path: File of its weights; None if they are random.
        sha256: Of the file, or empty.
    """

    path: Path | None
    sha256: str

    def setup(self, weights: Path | None) -> None:
        """Note which weights these are."""
        self.path, self.sha256 = weights, sha256(weights) if weights else ""

    def learnt(self) -> dict[str, Any]:
        """The weights file and its checksum."""
        return {"weights": self.weights, "sha256": self.sha256}

    def restore(self, learnt: dict[str, Any]) -> None:
        """Check that the weights are those of the first extraction.

        Raises:
            CrossmodalError: If the weights file is another one.
        """
        if self.sha256 != learnt["sha256"]:
            raise CrossmodalError(
                f"{self.path or 'random weights'}: SHA-256 is {self.sha256 or 'none'}, but the "
                f"feature was extracted with {learnt['weights'] or 'random weights'}, SHA-256 "
                f"{learnt['sha256'] or 'none'}; put that file there"
            )
