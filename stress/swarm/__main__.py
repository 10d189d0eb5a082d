"""``python -P -m stress.swarm …``: Locust with our packages pinned.

Locust puts the working directory first on the path; a user's own ``stress`` or ``goldfish`` folder there would replace
ours. Importing ours first settles it.
"""

from __future__ import annotations

from locust.main import main

from stress import scenarios
from stress.swarm import user

__all__ = ["main", "scenarios", "user"]

if __name__ == "__main__":
    main()
