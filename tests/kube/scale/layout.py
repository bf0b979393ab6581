"""Who runs where in a big cluster: jobs fill whole nodes, and every node belongs to one job."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """Nodes, jobs, and how many pods of its job each node runs."""

    nodes: int
    jobs: int
    per_node: int = 5

    @property
    def of_job(self) -> int:
        """Nodes of one job."""
        return self.nodes // self.jobs

    @property
    def tasks(self) -> int:
        """Tasks of one job."""
        return self.of_job * self.per_node

    @property
    def pods(self) -> int:
        """Pods of all jobs."""
        return self.tasks * self.jobs

    def node_of(self, job: int, task: int) -> str:
        """Return where a task runs."""
        return node_name(job * self.of_job + task // self.per_node)

    def lost(self, count: int) -> Iterator[str]:
        """Yield so many nodes to lose, each of another job while there are any left, and not its first."""
        for number in range(count):
            yield node_name(number % self.jobs * self.of_job + 1 + number // self.jobs)


def node_name(number: int) -> str:
    """Return the name of a node."""
    return f"n{number:05}"


def job_name(number: int) -> str:
    """Return the name of a job."""
    return f"j{number:04}"
