"""Count words and pairs in a table by SQL (DuckDB), and learn clusters from what it found."""

import tempfile

import duckdb

from eigentext.counting.counts import Counts
from eigentext.datasets.sample import sample_files
from eigentext.words import SpectralClusters

VOCABULARY = 100  # the most frequent words; all others are <unk>
FARTHEST = 2  # pairs of words that are so far apart, or nearer

# a text has lines, a line has tokens, between white space
TOKENS = """
create temp table tokens as
with lines as (
    select row_number() over () as line, regexp_split_to_array(line, '[ \\t\\r\\v\\f]+') as words
    from (select unnest(string_split(text, chr(10))) as line from read_parquet(?))
), words as (select line, unnest(list_filter(words, lambda word: word <> '')) as word,
                    generate_subscripts(list_filter(words, lambda word: word <> ''), 1) as place
             from lines),
frequent as (select word from words where word <> '<unk>'
             group by word order by count(*) desc, word limit ?)
select line, place, coalesce(frequent.word, '<unk>') as word
from words left join frequent using (word)
"""
WORDS = "select word, count(*) as count from tokens group by word order by word"
PAIRS = """
select l.word as left, r.word as right, r.place - l.place as distance, count(*) as count
from tokens l join tokens r using (line)
where r.place - l.place between 1 and ? group by all order by all
"""


def count_by_duckdb(texts: str, words: str, pairs: str) -> None:
    """From the column ``text`` of Parquet files to the two tables that eigentext reads."""
    with duckdb.connect() as database:
        database.execute(TOKENS, [texts, VOCABULARY])
        database.sql(WORDS).write_parquet(words)
        database.sql(PAIRS, params=[FARTHEST]).write_parquet(pairs)


def main(folder: str, text: str) -> Counts:
    """A text as a table of one row, and the counts of it."""
    texts, words, pairs = (f"{folder}/{name}.parquet" for name in ("texts", "words", "pairs"))
    with duckdb.connect() as database:
        database.sql("select ? as text", params=[text]).write_parquet(texts)
    count_by_duckdb(texts, words, pairs)
    # the same by a command: eigentext words count --words ... --pairs ... --contexts lr2
    return Counts.from_tables([words], [pairs], contexts="lr2")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        counts = main(folder, sample_files()["text.txt"].decode())
        print(counts)
        clusters = SpectralClusters(10).fit(counts)
        print(clusters.word_paths()["the"])
