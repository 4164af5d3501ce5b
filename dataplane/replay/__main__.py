"""python -m dataplane.replay: the same as headrace replay, where Django is not installed."""

import sys

from dataplane.replay.main import main

sys.exit(main())
