"""mteb, the Massive Text Embedding Benchmark: models on its tasks, prepared datasets as its tasks.

Importing it needs the extra `crossmodal-retrieval[mteb]`. Our speech is mteb's audio.
"""

from crossmodal.integrations.mteb.chosen_tasks import check_task, tasks_of
from crossmodal.integrations.mteb.models import load_model
from crossmodal.integrations.mteb.tasks import retrieval_tasks
from crossmodal.integrations.mteb.training_items import trained_on

__all__ = ["check_task", "load_model", "retrieval_tasks", "tasks_of", "trained_on"]
