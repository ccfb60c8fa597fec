-- The journal of a sitting: facts about it, and every answer ever given.
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answers (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  row INTEGER NOT NULL, id TEXT NOT NULL, reader TEXT NOT NULL,
  answer TEXT NOT NULL CHECK (answer IN ('label', 'cannot tell', 'not shown')),
  label TEXT CHECK ((label IS NULL) = (answer <> 'label')),
  time TEXT NOT NULL, model INTEGER NOT NULL, audit INTEGER NOT NULL,
  guess TEXT, probability REAL, informed INTEGER NOT NULL, undone TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS one_answer ON answers (row, reader) WHERE undone IS NULL;
PRAGMA application_id = {mark};
PRAGMA user_version = {format};
COMMIT;
