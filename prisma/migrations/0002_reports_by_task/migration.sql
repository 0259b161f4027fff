-- Reports are partitioned by task ------------------------------------------------
-- One partition a task: a fit reads one task, and the reports of a closed one go as a whole.

ALTER TABLE "reports" RENAME TO "reports_in_one_table";
ALTER TABLE "reports_in_one_table" RENAME CONSTRAINT "reports_pkey" TO "reports_in_one_table_pkey";

CREATE TABLE "reports" (
    "task" TEXT NOT NULL,
    "id" BYTEA NOT NULL,
    "artifact" TEXT NOT NULL,
    "payload" BYTEA NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "reports_pkey" PRIMARY KEY ("task","id"),
    CONSTRAINT "reports_id_is_16_bytes" CHECK (octet_length("id") = 16)
) PARTITION BY LIST ("task");

-- A task's name may be longer than a table's, and hold what a table's shouldn't: readable in part, unique by its hash.
CREATE FUNCTION "report_partition"("task" TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT 'reports_' || left(translate(task, '-', '_'), 30) || '_' || left(encode(sha256(convert_to(task, 'UTF8')), 'hex'), 16);
$$;

-- Made aside and attached: neither reads nor writes of other tasks wait for it.
CREATE FUNCTION "make_report_partition"("task" TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
  partition TEXT := report_partition(task);
BEGIN
  -- Before anything else of it is locked: one who waits here holds nothing that a detachment waits for.
  LOCK TABLE ONLY reports IN SHARE UPDATE EXCLUSIVE MODE;
  IF EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'reports'::regclass AND inhrelid = to_regclass(quote_ident(partition))) THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE reports INCLUDING ALL)', partition);
  EXECUTE format('ALTER TABLE reports ATTACH PARTITION %I FOR VALUES IN (%L)', partition, task);
END
$$;

CREATE FUNCTION "make_report_partition_of_task"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM make_report_partition(NEW.name);
  RETURN NULL;
END
$$;

CREATE TRIGGER "tasks_make_report_partition" AFTER INSERT ON "tasks"
    FOR EACH ROW EXECUTE FUNCTION "make_report_partition_of_task"();

SELECT "make_report_partition"("task") FROM (
    SELECT "name" AS "task" FROM "tasks" UNION SELECT DISTINCT "task" FROM "reports_in_one_table"
) AS "known";

INSERT INTO "reports" ("task", "id", "artifact", "payload", "received_at")
    SELECT "task", "id", "artifact", "payload", "received_at" FROM "reports_in_one_table" ORDER BY "task", "id";
DROP TABLE "reports_in_one_table";

-- AlterTable
ALTER TABLE "tasks" ADD COLUMN "reports_dropped_at" TIMESTAMPTZ(3);

-- An offset means something within its log only ----------------------------------

ALTER TABLE "rejected_reports" ADD COLUMN "log" TEXT NOT NULL DEFAULT 'postgres';
ALTER TABLE "rejected_reports" ALTER COLUMN "log" DROP DEFAULT;
ALTER TABLE "rejected_reports" DROP CONSTRAINT "rejected_reports_pkey";
ALTER TABLE "rejected_reports" ADD CONSTRAINT "rejected_reports_pkey" PRIMARY KEY ("log", "partition", "log_offset");
ALTER TABLE "rejected_reports" ADD COLUMN "published_at" TIMESTAMPTZ(3);

-- What Prisma can't say: an index of what still has to be published, and nothing else.
CREATE INDEX "rejected_reports_unpublished_idx" ON "rejected_reports"("log", "partition", "log_offset")
    WHERE "published_at" IS NULL;
