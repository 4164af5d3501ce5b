"""What each code of a refusal means and what to do: the page that its `type` names (04 §6.2).

Codes of documents (config.*, advice.*) are worded where they are found: dataplane.core.config.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """status: of the answer that carries the code."""

    status: int
    why: str
    instead: str


CODES: Mapping[str, Meaning] = {
    "request.malformed": Meaning(
        400, "The body is not JSON in UTF-8.", "Send one JSON object, or YAML where it is taken."
    ),
    "request.token_in_url": Meaning(
        400,
        "A credential stood in the address, and addresses end up in logs.",
        "Send it in a header. Rotate the one that was sent.",
    ),
    "cursor.invalid": Meaning(
        400, "The cursor is none that this deployment gave out.", "Begin again without one."
    ),
    "request.body_timeout": Meaning(
        408,
        "The body did not arrive in time: 10 seconds for all of it before sign-in, afterwards 30 "
        "for each part and 60 for all.",
        "Send it in one go. Behind a slow line, have the proxy collect it.",
    ),
    "request.too_many_bodies": Meaning(
        503,
        "Too many bodies are still on their way, from this address or in all.",
        "Wait a second. Behind a proxy, name it in HEADRACE_TRUSTED_PROXIES, so that addresses are "
        "told apart.",
    ),
    "auth.missing": Meaning(
        401, "Nothing says who is asking.", "Send Authorization: Bearer cg_api_…, or sign in."
    ),
    "auth.invalid_token": Meaning(
        401,
        "The token is none of this deployment's, or its maker is out; the link is unknown, used "
        "or over, and it is not said which.",
        "Compare it with what was shown when it was made, or ask for a new link.",
    ),
    "auth.expired": Meaning(
        401, "The token is beyond its end.", "Make another one, or rotate it earlier next time."
    ),
    "auth.revoked": Meaning(
        401, "The token was taken back.", "Ask whoever did it: the trail and its line say who."
    ),
    "auth.ip_not_allowed": Meaning(
        403,
        "The token was made for certain networks, and the request came from elsewhere.",
        "Send it from there, or make one for this network. Behind a proxy: "
        "HEADRACE_TRUSTED_PROXIES.",
    ),
    "auth.wrong_credential": Meaning(
        401,
        "A key of the data plane was sent; it opens the gateway and nothing else.",
        "Make a token of the API on the page of your account.",
    ),
    "auth.scope_missing": Meaning(
        403,
        "The token was not given the permission, or its maker lost it.",
        "Make a token with the permission that the answer names.",
    ),
    "auth.role_missing": Meaning(
        403,
        "The role does not include the permission here.",
        "Ask somebody who may change roles: the page of members.",
    ),
    "auth.csrf": Meaning(
        403,
        "The change did not come from a page of this deployment.",
        "Send the page's token as X-CSRFToken, or use a token of the API.",
    ),
    "auth.second_factor_owed": Meaning(
        403,
        "This deployment asks for a second factor of the role, and the account has none.",
        "Set up an authenticator: /me/second-factor.",
    ),
    "policy.forbidden": Meaning(
        403,
        "A token may not do this in a person's name, or would give more than it has.",
        "Sign in and do it there, or ask for less.",
    ),
    "not_found": Meaning(
        404,
        "There is nothing here, or nothing that the caller may see: both answer alike.",
        "Compare the identifier with a list that the same credential gets.",
    ),
    "request.method": Meaning(
        405, "The address has no such method.", "Use one of the header Allow."
    ),
    "conflict.state": Meaning(
        409, "The object is in a state that does not allow this.", "Read it anew and decide again."
    ),
    "conflict.ambiguous": Meaning(
        409,
        "Several organisations in reach use the name.",
        "Name the tenant or preset by its uid; nothing was done to any of them.",
    ),
    "account.last_manager": Meaning(
        409,
        "Nobody could manage the deployment afterwards.",
        "Make somebody else a manager first.",
    ),
    "account.same_hands": Meaning(
        409,
        "One person would give away the password and the second factor of another's account.",
        "Ask another manager for one of the two, or use headrace factor remove on the machine.",
    ),
    "key.bound_elsewhere": Meaning(
        409, "The agent's key stands for another tenant.", "Unbind it there first; it is not moved."
    ),
    "mail.refused": Meaning(
        502,
        "The mail server did not take a letter with a link, so the link is void.",
        "Mend the mail server, and invite again.",
    ),
    "plan.stale": Meaning(
        409, "A document changed since the plan was made.", "Make the plan again and read it."
    ),
    "plan.expired": Meaning(409, "Plans are good for a while only.", "Make the plan again."),
    "idempotency.in_progress": Meaning(
        409, "The first request with this key still runs.", "Ask again in a moment."
    ),
    "cursor.expired": Meaning(410, "Cursors are good for a day.", "Begin again without one."),
    "precondition.failed": Meaning(
        412,
        "Somebody changed it since it was read.",
        "Read it again, and send the new ETag in If-Match.",
    ),
    "request.too_large": Meaning(
        413, "The body is larger than limit_bytes.", "Send less at a time."
    ),
    "request.media_type": Meaning(
        415, "The body is of a kind that this address does not read.", "Send application/json."
    ),
    "config.invalid": Meaning(
        422,
        "The document has errors; each is in errors with its own code and place.",
        "Mend them, or ask POST /api/v1/fix.",
    ),
    "request.invalid": Meaning(
        422, "A field does not fit; errors says which and why.", "Compare with the description."
    ),
    "request.unknown_field": Meaning(
        422, "A field is not known here.", "Leave it out, or correct its spelling."
    ),
    "idempotency.key_reused": Meaning(
        422, "The key was used for another request.", "Use a new key for each deed."
    ),
    "upstream.url_refused": Meaning(
        422,
        "The address breaks the rule that the answer names. A private network takes a manager's "
        "leave; link-local and metadata addresses are refused always.",
        "Use a public https address, or tick what is meant.",
    ),
    "key.too_short": Meaning(
        422, "So short a key could be guessed.", "Bind the agent's whole provider key."
    ),
    "price.invalid": Meaning(
        422, "An entry of the card is wrong; none is taken.", "Decimals in USD per million tokens."
    ),
    "export.too_large": Meaning(
        422, "The export would hold too many rows.", "Narrow it with since and until."
    ),
    "precondition.required": Meaning(
        428,
        "A change has to say which state it is based on, or that a retry is one.",
        "Send If-Match with the ETag that was read, or an Idempotency-Key.",
    ),
    "rate_limited": Meaning(
        429,
        "The caller asked more often than the rate in RateLimit-Limit allows.",
        "Wait for the seconds in Retry-After.",
    ),
    "storage.full": Meaning(
        507,
        "The disk is full, so nothing was saved; reading goes on.",
        "Free space on the disk of the data directory, then do it again.",
    ),
    "storage.unavailable": Meaning(
        503,
        "The database is locked, read-only, damaged or gone; nothing was saved.",
        "Look at the log, which says which, and do it again afterwards.",
    ),
    "internal": Meaning(
        500, "A fault of the product.", "Report it with the request_id; the log has the rest."
    ),
}
