"""The simulated provider: Anthropic Messages, OpenAI Chat and Responses on one loopback port.

Its prompt caches bill as the providers' do, its clock is the header `x-headrace-now`, and the
header `x-sim-script` (or Simulator.script in a test) makes it say, break or delay whatever a
test wants:

    {"id": "turn-1", "rounds": [
        {"content": [{"type": "tool_use", "name": "context_guru_expand",
                      "input": {"id": {"$marker": 0}}}]},
        {"content": "done"}]}

Requests with the same script id take its rounds in order; the last one repeats. The whole format
is in docs/simulator.md. `python -m dataplane.simulator --port 9100` runs it by itself.
"""

from dataplane.simulator.script import Round, Script, script_header
from dataplane.simulator.server import Recorded, Simulator

__all__ = ["Recorded", "Round", "Script", "Simulator", "script_header"]
