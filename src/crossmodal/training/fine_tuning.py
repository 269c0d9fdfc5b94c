"""What methods share whose image network learns in a second phase, after all else has learnt.

In the first phase the network is frozen, in the second it learns too; in both Adam's rate is a
tenth after so many epochs of the phase, each time.

Source: Faghri et al., BMVC 2018, section 4; Cheng et al., IEEE TMM 2022, section IV.
"""

import torch
from torch import nn

from crossmodal.training.image_network import ImageNetworkMethod

DECAY = 0.1


class FineTuning(ImageNetworkMethod):
    """A method with the options `learning_rate`, `decay_every`, `clip` and `epochs`, and, for the
    second phase, `finetuning_rate`, without which there is none, and `finetuning_epochs`.
    """

    continues = False

    @property
    def phases(self) -> int:
        """The image network is frozen in the first, learns in the second."""
        return 2 if self.options.finetuning_rate else 1

    @property
    def epochs(self) -> int:
        """Of the present phase."""
        return self.options.epochs if self.phase == 0 else self.options.finetuning_epochs

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam without weight decay; of the image network only in the second phase."""
        if self.options.image_network:
            self.network["trunk"].requires_grad_(self.phase == 1)
        trained = [p for p in self.network.parameters() if p.requires_grad]
        return torch.optim.Adam(trained, fused=True)

    def learning_rate_at(self, epoch: int, step: int) -> float:
        """Steps down by epochs of the phase."""
        options = self.options
        rate = options.learning_rate if self.phase == 0 else options.finetuning_rate
        return rate * DECAY ** (epoch // options.decay_every)

    def clip(self) -> None:
        """Global norm of the gradients."""
        nn.utils.clip_grad_norm_(self.network.parameters(), self.options.clip)
