r"""What is to be annotated, as Docs whose sentences have tokens and forms, and nothing more yet.

Raw text goes through the segmenter; of text whose sentences or tokens are known, only the rest is
asked of it.  Of CoNLL-U, comments stay, and as many columns as are given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eigentext.errors import SettingsError
from eigentext.language.doc import Doc
from eigentext.language.formats import conllu
from eigentext.language.formats.conll import controls_as_blanks
from eigentext.language.formats.conllu_docs import both, one_blank, space_after
from eigentext.language.formats.text import split_tokens
from eigentext.language.sentence import Columns, Sentence
from eigentext.language.token import Token
from eigentext.pipeline.pieces import TextPiece
from eigentext.pipeline.settings import GIVEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eigentext.tagging.segmentation import SegmentedSentence, Segmenter

_new_token = tuple.__new__


def checked_level(keep: str | None) -> str | None:
    """One of the levels, or None."""
    if keep is not None and keep not in GIVEN:
        names = ", ".join(GIVEN)
        raise SettingsError(f"keep is {keep!r}, expected None or one of {names}")
    return keep


def draft(
    segmenter: Segmenter | None, source: Any, keep: str | None, doc_id: str | None = None
) -> Doc:
    """The Doc that is to be filled."""
    checked_level(keep)
    if isinstance(source, str):
        source = TextPiece(0, source, True, True)
    if isinstance(source, TextPiece):
        return _of_text(segmenter, source, keep, doc_id)
    if isinstance(source, Doc):
        return _of_doc(segmenter, source, keep)
    items = list(source)
    if items and isinstance(items[0], conllu.ConlluBlock):
        return _of_doc(segmenter, Doc.from_conllu(items, doc_id=doc_id), keep)
    if keep != "tokens":
        raise SettingsError("lists of tokens are annotated with keep='tokens'")
    return of_tokens(segmenter, items, doc_id)


def _of_text(
    segmenter: Segmenter | None, piece: TextPiece, keep: str | None, doc_id: str | None
) -> Doc:
    """A text, or a stretch of one."""
    if keep is None:
        segmented = _needed(segmenter).segment(piece.text)
    elif keep == "sentences":
        segmented = _by_line(_needed(segmenter), piece.text)
    elif keep == "tokens":
        segmented = _by_space(segmenter, piece.text)
    else:
        raise SettingsError(f"keep={keep!r}: expected CoNLL-U sentences or a Doc, found text")
    sentences = sentences_in(piece.text, segmented, last=piece.last)
    if sentences and not piece.new_paragraph:
        sentences = (replace(sentences[0], new_paragraph=False), *sentences[1:])
    return Doc(piece.text, sentences, doc_id, piece.start)


def _needed(segmenter: Segmenter | None) -> Segmenter:
    if segmenter is None:
        raise SettingsError(
            "this pipeline has no segmenter: give it tokens (keep='tokens') or CoNLL-U"
        )
    return segmenter


def sentences_in(
    text: str, segmented: Sequence[SegmentedSentence], *, last: bool = True
) -> tuple[Sentence, ...]:
    """Sentences with tokens and forms, from a segmenter's places; ``last``: no text follows."""
    sentences: list[Sentence] = []
    total = len(segmented)
    if total:  # white space before the first token
        before = text[: segmented[0].tokens[0].start]
    for at, (tokens, new_paragraph) in enumerate(segmented, start=1):
        nexts = [token[0] for token in tokens[1:]]
        nexts.append(segmented[at].tokens[0].start if at < total else len(text))
        tokens_here: list[Token] = []
        forms: list[str] = []
        number = 1
        for (start, end, words), following in zip(tokens, nexts, strict=True):
            form = text[start:end]
            gap = text[end:following]
            misc = "_" if gap == " " else space_after(gap) if gap else "SpaceAfter=No"
            form, misc = one_blank(form, misc)
            if words:
                last_word = number + len(words) - 1
                forms += words
            else:
                last_word = number
                forms.append(form)
            tokens_here.append(_new_token(Token, (form, start, end, misc, number, last_word)))
            number = last_word + 1
        sentences.append(Sentence(tokens_here, Columns(forms), new_paragraph))
    if sentences:
        _mend_ends(text, sentences, before, last=last)
    return tuple(sentences)


def _mend_ends(text: str, sentences: list[Sentence], before: str, *, last: bool) -> None:
    """What the first token says of the space before it, and the last of the space after it."""
    if last:
        tokens = sentences[-1].tokens
        final: Token = tokens[-1]
        inside = [item for item in final.misc.split("|") if item.startswith("SpacesInToken=")]
        misc = both(space_after(text[final.end :], last=True), "|".join(inside) or "_")
        sentences[-1] = replace(sentences[-1], tokens=[*tokens[:-1], final._replace(misc=misc)])
    if before:
        tokens = sentences[0].tokens
        misc = both(f"SpacesBefore={conllu.escape_spaces(before)}", tokens[0].misc)
        sentences[0] = replace(sentences[0], tokens=[tokens[0]._replace(misc=misc), *tokens[1:]])


def _by_line(segmenter: Segmenter, text: str) -> list[SegmentedSentence]:
    """One sentence a line; an empty line ends a paragraph."""
    from eigentext.tagging.segmentation import SegmentedSentence, SurfaceToken

    cut = segmenter.segment_sentence
    segmented: list[SegmentedSentence] = []
    at, new_paragraph = 0, True
    for line in text.split("\n"):
        if line.strip():
            tokens = cut(line).tokens
            moved = tuple(SurfaceToken(at + a, at + b, words) for a, b, words in tokens)
            if moved:
                segmented.append(SegmentedSentence(moved, new_paragraph))
                new_paragraph = False
        else:
            new_paragraph = True
        at += len(line) + 1
    return segmented


def _by_space(segmenter: Segmenter | None, text: str) -> list[SegmentedSentence]:
    """One sentence a line, its tokens between white space."""
    from eigentext.tagging.segmentation import SegmentedSentence, SurfaceToken

    segmented: list[SegmentedSentence] = []
    at, new_paragraph = 0, True
    for line in text.split("\n"):
        forms = [form for form in split_tokens(line) if controls_as_blanks(form).strip()]
        new_paragraph = new_paragraph or not forms
        if forms:
            words_of = [()] * len(forms) if segmenter is None else segmenter.words_of(forms)
            tokens, column = [], 0
            for form, words in zip(forms, words_of, strict=True):
                column = line.index(form, column)
                tokens.append(SurfaceToken(at + column, at + column + len(form), words))
                column += len(form)
            segmented.append(SegmentedSentence(tuple(tokens), new_paragraph))
            new_paragraph = False
        at += len(line) + 1
    return segmented


def of_tokens(
    segmenter: Segmenter | None, sentences: Iterable[Sequence[str]], doc_id: str | None = None
) -> Doc:
    """Of lists of tokens; the text has a blank between tokens and a line end after a sentence."""
    doc = Doc.from_tokens(sentences, doc_id=doc_id)
    if segmenter is None:
        return doc
    expanded = []
    for sentence in doc.sentences:
        typed = [doc.text[token.start : token.end] for token in sentence.tokens]
        expanded.append(_with_words(sentence, segmenter.words_of(typed)))
    return replace(doc, sentences=tuple(expanded))


def _of_doc(segmenter: Segmenter | None, doc: Doc, keep: str | None) -> Doc:
    """Of an annotated Doc, as much as is given; its comments stay."""
    if keep is None:
        return Doc(doc.text, sentences_in(doc.text, _needed(segmenter).segment(doc.text)), doc.id)
    if keep == "sentences":
        return _segmented_anew(_needed(segmenter), doc)
    if keep == "tokens":
        sentences = (_expanded_anew(segmenter, sentence) for sentence in doc.sentences)
        return replace(doc, sentences=tuple(sentences))
    return doc


def _segmented_anew(segmenter: Segmenter, doc: Doc) -> Doc:
    """The same sentences, other tokens."""
    from eigentext.tagging.segmentation import SegmentedSentence, SurfaceToken

    segmented: list[SegmentedSentence] = []
    for sentence in doc.sentences:
        begin = sentence.start
        tokens = segmenter.segment_sentence(doc.text[begin : sentence.end]).tokens
        moved = tuple(SurfaceToken(begin + a, begin + b, words) for a, b, words in tokens)
        if not moved:  # nothing but a mark that the segmenter passes over: it stays a token
            moved = (SurfaceToken(begin, sentence.end, ()),)
        segmented.append(SegmentedSentence(moved, sentence.new_paragraph))
    sentences = sentences_in(doc.text, segmented)
    kept = tuple(
        replace(new, comments=old.comments, sent_id=old.sent_id)
        for new, old in zip(sentences, doc.sentences, strict=True)
    )
    return replace(doc, sentences=kept)


def _expanded_anew(segmenter: Segmenter | None, sentence: Sentence) -> Sentence:
    """The same tokens, their words by the segmenter."""
    forms = [token.form for token in sentence.tokens]
    words_of = [()] * len(forms) if segmenter is None else segmenter.words_of(forms)
    return _with_words(sentence, words_of)


def _with_words(sentence: Sentence, words_of: Sequence[tuple[str, ...]]) -> Sentence:
    """The sentence with these words of its tokens; none: the token is one."""
    tokens: list[Token] = []
    words: list[str] = []
    for token, several in zip(sentence.tokens, words_of, strict=True):
        first = len(words) + 1
        words += several or (token.form,)
        tokens.append(token._replace(first=first, last=len(words)))
    return replace(sentence, tokens=tokens, columns=Columns(words), empty_nodes=())
