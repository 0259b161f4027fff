import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { openArtifact } from '@undertone/artifact';
import { Classifier } from '@undertone/classification';
import { trainerEnvironment } from '@undertone/engine';
import { type JobCompletion, type JobContext, JobError, type JobHandler, writeWhole } from '@undertone/jobs';
import { type MechanismPart, reportsDeleted, type Store } from '@undertone/store';
import { type ClassifierRequest } from '../classifiers/classifier-request';
import { type ClassifierTraining, type TrainedClassifier } from '../trainer/classifier-training';
import { snapshotReports } from './report-snapshot';

export const FIT_CLASSIFIER = 'fit-classifier';

/** What a succeeded job's `result` says. */
export interface FittedClassifier {
  /** Id of the classifier: SHA-256 of its file. */
  classifier: string;
}

export interface FitClassifierOptions {
  store: Pick<Store, 'tasks' | 'reports' | 'mechanisms' | 'classifiers'>;
  engine: ClassifierTraining['engine'];
  dataRoots: readonly string[];
  /** The built trainer. */
  script: string;
}

/** Hands a task's reports to a trainer process, and stores the classifier that it fits on them. */
export class FitClassifier implements JobHandler<ClassifierTraining, TrainedClassifier> {
  readonly kind = FIT_CLASSIFIER;
  readonly script: string;
  readonly environment = trainerEnvironment();

  constructor(private readonly options: FitClassifierOptions) {
    this.script = options.script;
  }

  async prepare({ job, folder }: JobContext): Promise<ClassifierTraining> {
    const { name, task: taskName, settings, seed, evaluation } = job.request as ClassifierRequest;
    const { store, engine, dataRoots } = this.options;
    const task = await store.tasks.find(taskName);
    if (!task) throw new JobError('unknown-task', `There is no task "${taskName}" any more.`);
    if (task.reportsDroppedAt !== null) {
      // What an earlier attempt has copied is to go as well.
      throw new JobError('reports-deleted', reportsDeleted(taskName, task.reportsDroppedAt).message);
    }
    const files = { artifact: 'artifact', prior: 'prior.bin', payloads: 'payloads.bin' };
    const inFolder = (file: string): string => path.join(folder, file);

    const artifactFile = await this.part(task.artifact, 'file');
    const { randomiser } = openArtifact(artifactFile, {
      trustedKeys: 'any-signer',
      expectedId: task.artifact,
    });
    await snapshotReports({
      reports: store.reports,
      task: task.name,
      upTo: job.createdAt,
      payloadBytes: randomiser.payloadBytes,
      minimumBatch: task.minimumBatch,
      file: inFolder(files.payloads),
    });
    writeWhole(inFolder(files.artifact), artifactFile);
    writeWhole(inFolder(files.prior), await this.part(task.artifact, 'prior'));
    return {
      name,
      task: task.name,
      artifact: task.artifact,
      files,
      settings,
      seed,
      evaluation,
      dataRoots,
      engine,
    };
  }

  async complete(trained: TrainedClassifier, { job, folder }: JobContext): Promise<JobCompletion> {
    const file = await readFile(path.join(folder, trained.file));
    const { lineage } = Classifier.deserialise(file);
    const id = createHash('sha256').update(file).digest('hex');
    const { name, task } = job.request as ClassifierRequest;
    const result: FittedClassifier = { classifier: id };
    return {
      result,
      store: async (transaction) => {
        await this.options.store.classifiers.save(
          {
            id,
            name,
            task,
            artifact: lineage.artifact as string,
            objective: lineage.objective as string,
            settings: trained.settings,
            metrics: trained.metrics,
            lineage,
            file,
            jobId: job.id,
          },
          transaction,
        );
      },
    };
  }

  private async part(artifact: string, part: MechanismPart): Promise<Uint8Array> {
    const bytes = await this.options.store.mechanisms.read(artifact, part);
    if (bytes) return bytes;
    throw new JobError(
      'incomplete-mechanism',
      `Mechanism ${artifact} has no ${part} here: classifiers are fitted where it was learned.`,
    );
  }
}
