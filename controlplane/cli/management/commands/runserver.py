"""manage.py runserver on daphne, which speaks ASGI.

daphne is no app of ours: each process would import it, and all of Twisted, at its start.
"""

from daphne.management.commands.runserver import Command

__all__ = ["Command"]
