"""Real agents, in the versions of package-lock.json, in front of a real gateway. `make test-agents`
installs and runs them; no other suite does.
"""
