"""``eigentext words``: from text to counts of words in their contexts, and to what they teach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eigentext.base.files.opening import expand
from eigentext.cli import options, words_apply, words_eval, words_train
from eigentext.cli.command import Flags, argument, flag, group, with_flags
from eigentext.cli.inputs import GenericText, is_model
from eigentext.cli.output import remark
from eigentext.cli.verbs import Training, Workers
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from eigentext.counting.counts import Counts


@dataclass(kw_only=True)
class Counting(Flags):
    """How text is counted."""

    contexts: str | None = flag(
        "r1, lr1, lr2, positions such as -2,-1,+1, or bag5.", show_default="lr2; of tables lr1"
    )
    vocab_size: int | None = flag("Keep the n most frequent words.", min=1)
    min_count: int = flag("Keep words seen at least this often.", 1, min=1)
    vocab_from: str | None = flag("Use the vocabulary of these counts, so that they add.")


@dataclass(kw_only=True)
class Tables(Flags):
    """Counts that another program made."""

    words: list[str] | None = flag(
        "In place of text: Parquet files or globs with the columns word and count."
    )
    pairs: list[str] | None = flag(
        "The same with left, right, count, and distance (1 unless there)."
    )
    sentences: int | None = flag(
        "Of tables: the number of lines, where pairs of distance 1 do not tell it.", min=1
    )


@with_flags()
def count(
    run: Training,
    corpus: list[str] | None = argument(
        "Text files, .parquet, .jsonl or .wet, globs or URLs; '-' is standard input.  Or "
        "files of counts, which are added."
    ),
    *,
    counting: Counting,
    text: GenericText,
    tables: Tables,
    workers: Workers,
    memory: options.Memory = "2GB",
) -> None:
    """Count words and their contexts in a corpus of any size, or add counts.

    A run that was killed, or found the disk full, goes on where it stopped when it is started
    again with the same settings: what it has done waits in the folder OUTPUT.work.

    Tables of words and of pairs, such as Spark or DuckDB write, are taken for counts as they are.
    A row of words named <unk> has the tokens of all words that were left out.  Tables that no
    text could have given are refused.  The examples of eigentext's sources make such tables.

    Example:
        $ eigentext words count sample/text.txt -o a.counts --contexts lr1 --vocab-size 200
        $ eigentext words count sample/text.txt -o b.counts --contexts lr1 --vocab-from a.counts
        $ eigentext words count a.counts b.counts -o both.counts
        $ eigentext convert a.counts -o words.parquet --pairs pairs.parquet
        $ eigentext words count --words words.parquet --pairs pairs.parquet -o c.counts
    """
    from eigentext.base.heap import map_large_blocks

    map_large_blocks()
    if bool(corpus) == bool(tables.words):
        raise SettingsError("expected a corpus, or --words and --pairs, and not both")
    if tables.words:
        counting.refuse("is for text, not for tables", but=("--contexts",))
        text.refuse("is for text, not for tables")
        _save(run, *_of_tables(tables, counting.contexts or "lr1", memory))
        return
    tables.refuse("is for tables, in place of a corpus")
    if corpus and is_model(corpus[0]):
        counting.refuse("is for text, not for counts")
        text.refuse("is for text, not for counts")
        _save(run, _sum(corpus, run), corpus)
        return
    _count(corpus or [], run, counting, text, workers, memory)


def _save(run: Training, counts: Counts, sources: list[str]) -> None:
    counts.save(run.output, data=run.about(sources))
    figures = {
        "tokens": counts.n_tokens,
        "sentences": counts.n_sentences,
        "vocabulary": len(counts.words),
        "pairs_stored": counts.n_stored,
    }
    run.tell(figures, results_on_stdout=run.output == "-")


def _of_tables(tables: Tables, contexts: str, memory: str) -> tuple[Counts, list[str]]:
    from eigentext.counting.counts import Counts

    files = expand(tables.words or []), expand(tables.pairs or [])
    n_sentences = tables.sentences
    counts = Counts.from_tables(*files, contexts=contexts, n_sentences=n_sentences, memory=memory)
    return counts, [*files[0], *files[1]]


def _sum(files: list[str], run: Training) -> Counts:
    from eigentext.counting.counts import Counts

    total = Counts.load(files[0])
    for path in files[1:]:
        total = total + Counts.load(path)
    if len(files) == 1:
        remark("only one file of counts: the sum is a copy of it", quiet=run.quiet)
    return total


def _count(
    corpus: list[str],
    run: Training,
    counting: Counting,
    text: GenericText,
    workers: Workers,
    memory: str,
) -> None:
    import resource

    from eigentext.counting.counting import count as count_corpus
    from eigentext.counting.counts import Counts
    from eigentext.counting.workfolder import clear

    work_dir = _work_folder(run.output)
    source = counting.vocab_from
    vocabulary = None if source is None else Counts.load(source).vocabulary
    with run.reading() as (log, progress), workers.at_work(run.jobs):
        sources = expand(corpus)
        counts = count_corpus(
            sources,
            contexts=counting.contexts or "lr2",
            vocab_size=counting.vocab_size,
            min_count=counting.min_count,
            vocabulary=vocabulary,
            memory=memory,
            work_dir=work_dir,
            keep_work=True,
            jobs=run.jobs,
            progress=progress,
            on_error=log,
            **text.to_count(),
        )
    figures: dict[str, Any] = {
        "tokens": counts.n_tokens,
        "sentences": counts.n_sentences,
        "skipped": counts.n_skipped,
        "vocabulary": len(counts.words),
        "pairs_stored": counts.n_stored,
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    counts.save(run.output, data=run.about(sources))
    if work_dir is not None:  # what it held is in the file now
        clear(work_dir)
    figures |= run.clock.figures(tokens=counts.n_tokens)
    run.tell(figures, results_on_stdout=run.output == "-")


def _work_folder(output: str) -> str | None:
    """Where unfinished work waits for the next run; None where a folder cannot be made beside."""
    from pathlib import Path

    from eigentext.base.files.storage import is_url

    target = Path(output)
    if output == "-" or is_url(output) or (target.exists() and not target.is_file()):
        return None
    return f"{output}.work"


app = group(
    count,
    words_train.cluster,
    words_train.embed,
    words_train.train_topics,
    words_train.train_lm,
    words_apply.apply,
    words_eval.score,
    words_eval.eval_,
    words_eval.inspect,
)
