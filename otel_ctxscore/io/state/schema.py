"""The tables of the state file, and how long the rows of each stay."""

from __future__ import annotations

from typing import Literal, NamedTuple

APPLICATION_ID = 0x43545853  # "CTXS"
SCHEMA_VERSION = 1

_BY_TIME = """
CREATE TABLE IF NOT EXISTS {span}_sums (
  at REAL NOT NULL, service TEXT NOT NULL, scorer TEXT NOT NULL, version TEXT NOT NULL, stage TEXT NOT NULL,
  n REAL NOT NULL, w REAL NOT NULL, wf REAL NOT NULL, ww REAL NOT NULL, wwf REAL NOT NULL, wwff REAL NOT NULL,
  wy REAL NOT NULL, wwy REAL NOT NULL, wwyy REAL NOT NULL, wwyf REAL NOT NULL,
  PRIMARY KEY (at, service, scorer, version, stage)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS {span}_segments (
  at REAL NOT NULL, segment TEXT NOT NULL, service TEXT NOT NULL, scorer TEXT NOT NULL, version TEXT NOT NULL,
  stage TEXT NOT NULL, value TEXT NOT NULL,
  n REAL NOT NULL, w REAL NOT NULL, wf REAL NOT NULL, ww REAL NOT NULL, wwf REAL NOT NULL, wwff REAL NOT NULL,
  wy REAL NOT NULL, wwy REAL NOT NULL, wwyy REAL NOT NULL, wwyf REAL NOT NULL,
  PRIMARY KEY (at, segment, service, scorer, version, stage, value)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS {span}_counts (
  at REAL NOT NULL, service TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, detail TEXT NOT NULL,
  n REAL NOT NULL, PRIMARY KEY (at, service, kind, name, detail)
) WITHOUT ROWID;
"""
"""Sums and counts of a quarter of a minute (fine), an hour or a day, which begins at `at`; that stands first, for all
questions are about a time. What is summed is in core/hours.py and core/stats/sums.py."""
SPANS: tuple[Literal["fine", "hour", "day"], ...] = ("fine", "hour", "day")
BY_TIME = {span: [f"{span}_{what}" for what in ("sums", "segments", "counts")] for span in SPANS}

SCHEMA = """
CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, at REAL NOT NULL, judgement TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS verdicts_at ON verdicts (at);
CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, at REAL NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS traces (
  trace_id BLOB PRIMARY KEY, at REAL NOT NULL, outcome TEXT NOT NULL, reason TEXT, service TEXT NOT NULL,
  closed TEXT NOT NULL, spans INTEGER NOT NULL, delivered INTEGER NOT NULL, redelivered REAL, detail TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS traces_at ON traces (at);

-- n is minus the microsecond of keeping: in ascending order the newest comes first. Wide columns stand in tables of
-- their own, so that a filter reads little.
CREATE TABLE IF NOT EXISTS runs (
  n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, trace_id TEXT, at REAL NOT NULL, service TEXT NOT NULL,
  outcome TEXT NOT NULL, reason TEXT, content TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS runs_at ON runs (at);
CREATE INDEX IF NOT EXISTS runs_trace ON runs (trace_id);
CREATE INDEX IF NOT EXISTS runs_service ON runs (service);
CREATE INDEX IF NOT EXISTS runs_reason ON runs (reason);
CREATE TABLE IF NOT EXISTS run_records (
  n INTEGER PRIMARY KEY REFERENCES runs (n) ON DELETE CASCADE, record BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS run_texts (
  n INTEGER PRIMARY KEY REFERENCES runs (n) ON DELETE CASCADE, at REAL NOT NULL, text BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS run_texts_at ON run_texts (at);
-- place: the lowest score of the run in 0..1, or 2 without one. The scorer '' stands for all that count.
CREATE TABLE IF NOT EXISTS run_scores (
  scorer TEXT NOT NULL, place REAL NOT NULL, n INTEGER NOT NULL REFERENCES runs (n) ON DELETE CASCADE,
  service TEXT NOT NULL, PRIMARY KEY (scorer, place, n)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_scores_service ON run_scores (service, scorer, place, n);
CREATE INDEX IF NOT EXISTS run_scores_n ON run_scores (n);
CREATE TABLE IF NOT EXISTS run_segments (
  name TEXT NOT NULL, value TEXT NOT NULL, n INTEGER NOT NULL REFERENCES runs (n) ON DELETE CASCADE,
  PRIMARY KEY (name, value, n)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_segments_n ON run_segments (n);

-- What people say of runs, and the last judgement that one of them asked for. They name a run by its id, for a repeat
-- takes its place under the same one. at is that of the run's text.
CREATE TABLE IF NOT EXISTS labels (
  run_id TEXT NOT NULL, who TEXT NOT NULL, said REAL NOT NULL, verdicts TEXT NOT NULL, PRIMARY KEY (run_id, who)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS label_notes (
  run_id TEXT NOT NULL, who TEXT NOT NULL, at REAL NOT NULL, notes TEXT NOT NULL, PRIMARY KEY (run_id, who),
  FOREIGN KEY (run_id, who) REFERENCES labels (run_id, who) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS label_notes_at ON label_notes (at);
CREATE TABLE IF NOT EXISTS opinions (run_id TEXT PRIMARY KEY, at REAL NOT NULL, opinion TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS opinions_at ON opinions (at);

-- A row a day; at is its start.
CREATE TABLE IF NOT EXISTS documents (
  kind TEXT NOT NULL, service TEXT NOT NULL, document TEXT NOT NULL, at REAL NOT NULL, retrieved INTEGER NOT NULL,
  judged INTEGER NOT NULL, useful INTEGER NOT NULL, used INTEGER NOT NULL, above INTEGER NOT NULL,
  PRIMARY KEY (kind, service, document, at)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS documents_at ON documents (at);

-- at is when a score last came from it.
CREATE TABLE IF NOT EXISTS evaluators (
  scorer TEXT NOT NULL, version TEXT NOT NULL, tier TEXT NOT NULL, model TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (scorer, version)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS evaluators_at ON evaluators (at);
""" + "".join(_BY_TIME.format(span=span) for span in SPANS)


class Aged(NamedTuple):
    """A table whose rows go with age, by their column `at`: those that hold text and fine sums sooner. `makes_room` is
    false where a full file does not cost its rows: what people wrote goes only with its run."""

    table: str
    holds: Literal["history", "text", "fine"]
    makes_room: bool = True


AGED = (
    Aged("verdicts", "text"),
    Aged("run_texts", "text"),
    Aged("opinions", "text"),
    Aged("label_notes", "text", makes_room=False),
    Aged("runs", "history"),
    Aged("traces", "history"),
    Aged("documents", "history"),
    *(Aged(table, "fine") for table in BY_TIME["fine"]),
    *(Aged(table, "history") for table in (*BY_TIME["hour"], *BY_TIME["day"])),
    Aged("evaluators", "history"),
)

WITH_THEIR_RUN = tuple(
    f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = {table}.run_id)"  # noqa: S608
    for table in ("labels", "opinions")
)
"""What is done once runs have gone: what was said of them goes too."""
