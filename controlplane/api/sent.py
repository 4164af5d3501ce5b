"""What callers send to the API (04 §4.8, 6.3)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

NO_CONTROL = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f]*$"
Message = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=3, max_length=500, pattern=NO_CONTROL),
]
Name = Annotated[str, StringConstraints(max_length=120, pattern=NO_CONTROL)]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{1,39}$")]
Uid = Annotated[str, StringConstraints(max_length=64, pattern=r"^[a-z0-9_/@-]*$")]
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Sent(BaseModel):
    """What a caller sends: exact types, no field that is not known."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Text(Sent):
    """target: as in a validation, "" for a tenant that has nothing but the server default."""

    source_yaml: str
    target: Uid = ""


class NewVersion(Sent):
    source_yaml: str
    message: Message


class Reason(Sent):
    message: Message


class Form(Sent):
    """fields: JSON pointer to a value, null deletes the key; pipeline: the whole new list."""

    fields: dict[str, Any] = Field(default_factory=dict)
    pipeline: list[Name] | None = None
    message: Message


class NewDraft(Sent):
    source_yaml: str
    base: Number = 0


class Mine(Sent):
    source_yaml: str
    base: Number


class EditIn(Sent):
    """One edit of a document that a program can make."""

    op: Literal["delete", "rename", "move", "set", "insert_after"]
    path: Annotated[str, StringConstraints(max_length=500, pattern="^(/.*)?$")]
    to: Annotated[str, StringConstraints(max_length=500)] | None = None
    anchor: Annotated[str, StringConstraints(max_length=500)] | None = None
    value: Any = None


class Fix(Text):
    """edits: those of one problem's replacement; none applies every fix of an error."""

    edits: list[EditIn] = Field(default_factory=list, max_length=100)


class NewPreset(Sent):
    """From source_yaml, or a copy of clone: a preset's name, with @version for an older one."""

    organisation: Uid
    name: Slug
    source_yaml: str | None = None
    message: Message
    title: Name = ""
    description: Annotated[str, StringConstraints(max_length=500, pattern=NO_CONTROL)] = ""
    labels: list[Name] = Field(default_factory=list, max_length=20)


class Clone(Sent):
    """version: of the preset that is copied, the promoted one by default."""

    organisation: Uid
    name: Slug
    version: Number | None = None
    message: Message = "Cloned"


class Described(Sent):
    title: Name = ""
    description: Annotated[str, StringConstraints(max_length=500, pattern=NO_CONTROL)] = ""
    labels: list[Name] = Field(default_factory=list, max_length=20)


class Archive(Sent):
    archived: bool = True


class Promotion(Sent):
    """version: the number to put in force; an older one rolls back."""

    version: Number
    message: Message


class Change(Sent):
    target: Uid
    source_yaml: str


class NewPlan(Sent):
    changes: list[Change] = Field(min_length=1, max_length=20)
    message: Message
