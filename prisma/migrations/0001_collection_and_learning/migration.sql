-- CreateEnum
CREATE TYPE "job_status" AS ENUM ('queued', 'running', 'succeeded', 'failed', 'cancelled');

-- CreateTable
CREATE TABLE "mechanisms" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "signer" TEXT NOT NULL,
    "file" BYTEA NOT NULL,
    "prior" BYTEA,
    "decoder" BYTEA,
    "claim" JSONB NOT NULL,
    "lineage" JSONB NOT NULL,
    "metrics" JSONB NOT NULL,
    "job_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "mechanisms_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "mechanism_jobs" (
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "request" JSONB NOT NULL,
    "status" "job_status" NOT NULL DEFAULT 'queued',
    "progress" JSONB,
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "error" JSONB,
    "result" JSONB,
    "lease_holder" TEXT,
    "lease_until" TIMESTAMPTZ(3),
    "cancel_requested" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "mechanism_jobs_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "tasks" (
    "name" TEXT NOT NULL,
    "artifact" TEXT NOT NULL,
    "labels" TEXT[],
    "opens_at" TIMESTAMPTZ(3) NOT NULL,
    "closes_at" TIMESTAMPTZ(3),
    "minimum_batch" INTEGER NOT NULL,
    "per_person_cap" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tasks_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "reports" (
    "task" TEXT NOT NULL,
    "id" BYTEA NOT NULL,
    "artifact" TEXT NOT NULL,
    "payload" BYTEA NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "reports_pkey" PRIMARY KEY ("task","id")
);

-- CreateTable
CREATE TABLE "outcome_counts" (
    "task" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "shard" INTEGER NOT NULL,
    "count" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "outcome_counts_pkey" PRIMARY KEY ("task","outcome","shard")
);

-- CreateTable
CREATE TABLE "ingest_positions" (
    "consumer" TEXT NOT NULL,
    "partition" INTEGER NOT NULL,
    "log_offset" BIGINT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ingest_positions_pkey" PRIMARY KEY ("consumer","partition")
);

-- CreateTable
CREATE TABLE "report_log_partitions" (
    "partition" INTEGER NOT NULL,
    "next_offset" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "report_log_partitions_pkey" PRIMARY KEY ("partition")
);

-- CreateTable
CREATE TABLE "report_log_entries" (
    "partition" INTEGER NOT NULL,
    "log_offset" BIGINT NOT NULL,
    "key" BYTEA NOT NULL,
    "value" BYTEA NOT NULL,
    "appended_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "report_log_entries_pkey" PRIMARY KEY ("partition","log_offset")
);

-- CreateTable
CREATE TABLE "rejected_reports" (
    "partition" INTEGER NOT NULL,
    "log_offset" BIGINT NOT NULL,
    "task" TEXT,
    "reason" TEXT NOT NULL,
    "detail" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "rejected_reports_pkey" PRIMARY KEY ("partition","log_offset")
);

-- CreateTable
CREATE TABLE "classifiers" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "task" TEXT NOT NULL,
    "artifact" TEXT NOT NULL,
    "objective" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "metrics" JSONB NOT NULL,
    "lineage" JSONB NOT NULL,
    "file" BYTEA NOT NULL,
    "job_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "classifiers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "classifier_jobs" (
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "request" JSONB NOT NULL,
    "status" "job_status" NOT NULL DEFAULT 'queued',
    "progress" JSONB,
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "error" JSONB,
    "result" JSONB,
    "lease_holder" TEXT,
    "lease_until" TIMESTAMPTZ(3),
    "cancel_requested" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "classifier_jobs_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "mechanisms_name_created_at_idx" ON "mechanisms"("name", "created_at");

-- CreateIndex
CREATE INDEX "mechanism_jobs_status_created_at_idx" ON "mechanism_jobs"("status", "created_at");

-- CreateIndex
CREATE INDEX "mechanism_jobs_created_at_idx" ON "mechanism_jobs"("created_at");

-- CreateIndex
CREATE INDEX "tasks_artifact_idx" ON "tasks"("artifact");

-- CreateIndex
CREATE INDEX "rejected_reports_task_reason_idx" ON "rejected_reports"("task", "reason");

-- CreateIndex
CREATE INDEX "classifiers_name_created_at_idx" ON "classifiers"("name", "created_at");

-- CreateIndex
CREATE INDEX "classifiers_task_idx" ON "classifiers"("task");

-- CreateIndex
CREATE INDEX "classifier_jobs_status_created_at_idx" ON "classifier_jobs"("status", "created_at");

-- CreateIndex
CREATE INDEX "classifier_jobs_created_at_idx" ON "classifier_jobs"("created_at");

-- AddForeignKey
ALTER TABLE "mechanisms" ADD CONSTRAINT "mechanisms_job_id_fkey" FOREIGN KEY ("job_id") REFERENCES "mechanism_jobs"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_artifact_fkey" FOREIGN KEY ("artifact") REFERENCES "mechanisms"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "classifiers" ADD CONSTRAINT "classifiers_job_id_fkey" FOREIGN KEY ("job_id") REFERENCES "classifier_jobs"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "classifiers" ADD CONSTRAINT "classifiers_task_fkey" FOREIGN KEY ("task") REFERENCES "tasks"("name") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "classifiers" ADD CONSTRAINT "classifiers_artifact_fkey" FOREIGN KEY ("artifact") REFERENCES "mechanisms"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What a Prisma schema can't say ---------------------------------------------

ALTER TABLE "reports" ADD CONSTRAINT "reports_id_is_16_bytes" CHECK (octet_length("id") = 16);
ALTER TABLE "outcome_counts" ADD CONSTRAINT "outcome_counts_count_is_not_negative" CHECK ("count" >= 0);

-- Rows that are updated in place over and over: room for the next version on the same page.
ALTER TABLE "outcome_counts" SET (fillfactor = 50);
ALTER TABLE "ingest_positions" SET (fillfactor = 50);
ALTER TABLE "report_log_partitions" SET (fillfactor = 50);
ALTER TABLE "mechanism_jobs" SET (fillfactor = 70);
ALTER TABLE "classifier_jobs" SET (fillfactor = 70);

-- Entries live for seconds: vacuum by their number, whatever the size of the table.
ALTER TABLE "report_log_entries" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- Weights don't compress; don't try.
ALTER TABLE "mechanisms"
    ALTER COLUMN "file" SET STORAGE EXTERNAL,
    ALTER COLUMN "prior" SET STORAGE EXTERNAL,
    ALTER COLUMN "decoder" SET STORAGE EXTERNAL;
ALTER TABLE "classifiers" ALTER COLUMN "file" SET STORAGE EXTERNAL;
