"""`python -m shiplift.agent`, and the one file that the agent is on a machine."""

import sys

from shiplift.agent.program import main

sys.exit(main())
