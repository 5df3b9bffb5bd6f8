"""What goes over the wire about annotation: people, projects, documents, decisions, proposals."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, WithJsonSchema

from eigentext.base.types import Json
from eigentext.studio.api.schemas import ApiRequest, Text, whole
from eigentext.studio.tasks import TASKS
from eigentext.studio.tasks.records import Finding

Role = Literal["reader", "annotator", "adjudicator", "admin"]
_LARGEST = 2**53  # the largest whole number that JavaScript is sure of
Number = Annotated[int, Field(ge=1, le=_LARGEST)]
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(whole),
]
Password = Annotated[str, StringConstraints(min_length=1, max_length=1_000), AfterValidator(whole)]


def _task(name: str) -> str:
    if name not in TASKS:
        raise ValueError(f"expected one of {', '.join(TASKS)}")
    return name


TaskName = Annotated[
    str, AfterValidator(_task), WithJsonSchema({"type": "string", "enum": list(TASKS)})
]
Label = Annotated[str, StringConstraints(max_length=200), AfterValidator(whole)]


# ---- people


class UserView(BaseModel):
    """Somebody who may work here."""

    id: int
    name: str
    role: Role
    active: bool
    created: str


class SessionAnswer(BaseModel):
    """Who is asking, and whether names need passwords here."""

    accounts: bool = Field(description="false: this machine alone, everybody may do everything")
    user: UserView | None
    csrf: str = Field(description="to be sent as X-CSRF-Token with every change")
    may: list[str] = Field(description="what this user may do, as actions")


class LoginRequest(ApiRequest):
    """A name and its password."""

    name: Name
    password: Password


class PasswordRequest(ApiRequest):
    """A new password, and the present one."""

    old: Password
    new: Password


class NewUserRequest(ApiRequest):
    """Somebody new."""

    name: Name
    role: Role = "annotator"
    password: Password | None = None


class UserChange(ApiRequest):
    """What is to be changed of a user."""

    role: Role | None = None
    active: bool | None = None
    password: Password | None = None


class UsersAnswer(BaseModel):
    """All users."""

    users: list[UserView]


class TokenRequest(ApiRequest):
    """A token for a program, with no more rights than ``scope``."""

    name: Name
    scope: Role = "annotator"
    days: int | None = Field(default=90, ge=1, le=3_650, description="until it expires")


class AccessTokenView(BaseModel):
    """A token; its secret is shown once, when it is made."""

    id: int
    name: str
    scope: Role
    created: str
    used: str | None
    expires: str | None
    revoked: str | None
    secret: str | None = None


class TokensAnswer(BaseModel):
    """The tokens of the user who asks."""

    tokens: list[AccessTokenView]


class AuditView(BaseModel):
    """Who did what, and when."""

    id: int
    at: str
    user: str | None
    action: str
    about: Json


class AuditAnswer(BaseModel):
    """The newest entries first."""

    entries: list[AuditView]


# ---- projects and documents


class ProjectRequest(ApiRequest):
    """A project; in a change, only what is given is changed (the task stays)."""

    name: Name | None = None
    task: TaskName | None = None
    language: Label | None = None
    guidelines: Annotated[Text, Field(max_length=200_000)] | None = None
    model: Label | None = Field(default=None, description="of those served; empty: none")
    settings: dict[Text, Any] | None = Field(
        default=None,
        description="`labels` (values to offer), `scheme`, `compare` (true: half of the "
        "sentences are shown unranked, to measure what ranking is worth)",
    )


class LayerView(BaseModel):
    """How far somebody is with a document."""

    layer: int
    kind: Literal["annotator", "adjudication"]
    user: str | None
    version: int
    decided: int
    done_sentences: int
    done: str | None
    closed: bool


class DocumentSummary(BaseModel):
    """A document without its text."""

    id: int
    project: int
    name: str
    n_sentences: int
    n_words: int
    created: str
    assigned: list[str]
    layers: list[LayerView]


class MadeModelView(BaseModel):
    """A model that was learned from decisions."""

    id: int
    trained: str = Field(serialization_alias="made")
    by: str | None
    scores: Json
    in_use: bool


class ProjectView(BaseModel):
    """A project."""

    id: int
    name: str
    task: TaskName
    language: str
    guidelines: str
    model: str
    settings: Json
    created: str
    deleted: str | None
    formats: list[str] = Field(description="of its export")
    options: list[str] = Field(description="settings that this task has and others do not")


class ProjectsAnswer(BaseModel):
    """All projects, by name."""

    projects: list[ProjectView]


class DocumentsAnswer(BaseModel):
    """The documents of a project, oldest first."""

    documents: list[DocumentSummary]


class ImportRequest(ApiRequest):
    """Text to annotate; a file of several documents (CoNLL-U with newdoc) gives several."""

    name: Name
    format: Literal["text", "conllu", "ptb"] = "text"
    text: Text
    scheme: Text = Field(default="generic", max_length=40, description="of text; see /api/health")
    pipeline: Label | None = Field(default=None, description="segments text instead")


class AssignRequest(ApiRequest):
    """Who is to annotate a document, or is no longer."""

    user: Number
    assigned: bool = True


# ---- decisions


class ItemView(BaseModel):
    """One thing to decide, or decided; see the page on tasks for items and values."""

    item: str
    value: Any
    decided: bool
    certainty: float
    candidates: list[Json]
    note: str = ""


class ProposalView(BaseModel):
    """What the model says of a sentence under all decisions so far."""

    task: TaskName
    sentence: int
    ranked: bool = Field(description="false: candidates are shown in an order that tells nothing")
    analysis: Json
    items: list[ItemView]
    certainty: float
    kbest: list[Json]
    source: str
    followed: bool
    notes: list[str]
    svg: str | None = Field(default=None, description="a drawing of the tree, for trees")


class ChangeRequest(ApiRequest):
    """One decision: the value of an item of a sentence; null takes a decision away."""

    sentence: Annotated[int, Field(ge=0, le=_LARGEST)]
    item: Annotated[str, StringConstraints(min_length=1, max_length=60), AfterValidator(whole)]
    value: Any
    rank: int | None = Field(default=None, ge=1, le=1_000_000)
    seconds: float | None = Field(default=None, ge=0, le=1e7)
    keys: int | None = Field(default=None, ge=0, le=1_000_000)
    note: Annotated[Text, Field(max_length=10_000)] = ""


class StepRequest(ApiRequest):
    """A step in a layer: new decisions, undo or redo."""

    layer: Literal["mine", "adjudication"] = "mine"
    base_version: int | None = Field(
        default=None,
        ge=0,
        le=_LARGEST,
        alias="seen",
        description="the version that was seen: 409 if stale",
    )
    k: int = Field(default=1, ge=1, le=50, description="so many whole trees in the proposal")


class DecideRequest(StepRequest):
    """Decisions that belong together: all are saved, or none."""

    changes: list[ChangeRequest] = Field(min_length=1, max_length=2_000)


class DoneRequest(ApiRequest):
    """Whether a document is finished in this layer; the number of a user: theirs."""

    layer: Annotated[str, Field(pattern=r"^(mine|adjudication|[1-9][0-9]{0,15})$")] = "mine"
    done: bool = True


class DecisionView(BaseModel):
    """A decision as it is stored."""

    id: int
    version: int
    sentence: int
    item: str
    value: Any
    rank: int | None
    ranked: bool
    seconds: float | None
    keys: int | None
    note: str
    by: str | None
    at: str
    undone: str | None
    undone_by: str | None


class DecidedAnswer(BaseModel):
    """What was saved or taken back, and what the model says now of the sentences in question."""

    version: int
    changed: list[DecisionView]
    proposals: list[ProposalView]
    can_undo: bool
    can_redo: bool
    progress: LayerView


class DocumentAnswer(BaseModel):
    """A document as it stands in a layer."""

    document: DocumentSummary
    project: ProjectView
    text: str | None
    sentences: list[Json]
    layer: LayerView
    writable: bool = Field(description="whether the asker may decide in this layer")
    decisions: list[DecisionView]
    can_undo: bool
    can_redo: bool


class HistoryAnswer(BaseModel):
    """All decisions of a layer in the order they were made."""

    decisions: list[DecisionView]


class CandidatesAnswer(BaseModel):
    """Values that an item could have, the most probable first."""

    candidates: list[Json]


class SentenceCertainty(BaseModel):
    """How sure the model is of what is still open in a sentence."""

    document: int
    sentence: int
    certainty: float
    n_open: int
    n_decided: int
    done: bool
    least: str | None
    text: str


class CertaintyAnswer(BaseModel):
    """The sentences of a document, in order; or those that wait, the least certain first."""

    sentences: list[SentenceCertainty]


class ChecksAnswer(BaseModel):
    """The findings of one sentence."""

    findings: list[Finding]


class CompareAnswer(BaseModel):
    """What every layer says of a sentence, for adjudication."""

    sentence: int
    layers: list[Json] = Field(
        description="layer, kind, user, values (as decided), items (of the whole, if it is done), "
        "analysis, done"
    )
    differing: list[str] = Field(description="items about which the layers disagree")


class MeasuresAnswer(BaseModel):
    """Agreement, accuracy of proposals, time and keys of a project."""

    measures: Json
    table: list[tuple[str, str, str]] = Field(description="about, figure, value with its interval")


class MadeModelsAnswer(BaseModel):
    """Models that were made for a project, the newest last."""

    models: list[MadeModelView]


class RetrainAnswer(BaseModel):
    """How far the making of a new model is."""

    state: Literal["never", "running", "finished", "failed"]
    done: int = Field(default=0, description="steps that are done")
    total: int = Field(default=0, description="of so many; 0: not known yet")
    doing: str = Field(default="", description="what is being done now, in words")
    why: str = Field(default="", description="of a failure")
    report: Json = Field(default={}, description="scores of old and new, and the verdict")
    model: MadeModelView | None = None
