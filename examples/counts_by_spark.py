"""Count words and pairs in a table by Spark, and learn clusters from what it found."""

import tempfile

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from eigentext.counting.counts import Counts
from eigentext.datasets.sample import sample_files
from eigentext.words import SpectralClusters

VOCABULARY = 100  # the most frequent words; all others are <unk>
FARTHEST = 2  # pairs of words that are so far apart, or nearer


def tokens_of(texts: DataFrame) -> DataFrame:
    """A row for every token of the column ``text``: its line, its place there, and the word."""
    # a text has lines, a line has tokens, between white space
    lines = texts.select(sql.explode(sql.split("text", "\n")).alias("line"))
    lines = lines.select(
        sql.monotonically_increasing_id().alias("line"),
        sql.filter(sql.split("line", r"[ \t\r\x0B\f]+"), lambda word: word != "").alias("words"),
    ).cache()
    tokens = lines.select("line", sql.posexplode("words").alias("place", "word"))
    frequent = (
        tokens.where("word <> '<unk>'")
        .groupBy("word")
        .count()
        .orderBy(sql.desc("count"), "word")
        .limit(VOCABULARY)
        .select("word", sql.col("word").alias("known"))
    )
    known = sql.coalesce("known", sql.lit("<unk>")).alias("word")
    return tokens.join(sql.broadcast(frequent), "word", "left").select("line", "place", known)


def count_by_spark(texts: DataFrame, words: str, pairs: str) -> None:
    """From the column ``text`` to the two tables that eigentext reads, each a folder of files."""
    tokens = tokens_of(texts).cache()
    tokens.groupBy("word").count().write.parquet(words)
    left = tokens.select("line", sql.col("word").alias("left"), sql.col("place").alias("from"))
    right = tokens.select("line", sql.col("word").alias("right"), sql.col("place").alias("to"))
    near = left.join(right, "line").withColumn("distance", sql.expr("`to` - `from`"))
    near = near.where(sql.col("distance").between(1, FARTHEST))
    near.groupBy("left", "right", "distance").count().write.parquet(pairs)


def main(folder: str, text: str) -> Counts:
    """A text as a table of one row, and the counts of it."""
    words, pairs = f"{folder}/words", f"{folder}/pairs"
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    session = builder.config("spark.sql.warehouse.dir", f"{folder}/warehouse").getOrCreate()
    try:
        count_by_spark(session.createDataFrame([(text,)], ["text"]), words, pairs)
    finally:
        session.stop()
    # the same by a command: eigentext words count --words 'words/*.parquet' ...
    files = [f"{words}/*.parquet"], [f"{pairs}/*.parquet"]
    return Counts.from_tables(*files, contexts="lr2")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        counts = main(folder, sample_files()["text.txt"].decode())
        print(counts)
        clusters = SpectralClusters(10).fit(counts)
        print(clusters.word_paths()["the"])
