"""What looks like a credential in a text that leaves the process (03 section 1.8, 04 section 8.3).

Every process that writes a log line takes its lines through here.
"""

from __future__ import annotations

import re

_SECRETS = re.compile(
    r"cg_(?:live|test|api|node|link)_[A-Za-z0-9]+|sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}"
    r"|github_pat_\w+|glpat-[\w-]+|hf_[A-Za-z0-9]{16,}|xox[abprs]-[\w-]+|AKIA[A-Z0-9]{12,}"
    r"|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
    r"|(?i:(?:authorization|x-api-key|bearer)[=: ]+)\S+"
)
_HIDDEN = "«secret»"


def scrubbed(text: str) -> str:
    """The text without what looks like a credential."""
    return _SECRETS.sub(_HIDDEN, text)
