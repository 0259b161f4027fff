import { type Job } from './job';
import { jobLogLine } from './job-events';

const job: Job = {
  id: 'j1',
  kind: 'count',
  status: 'running',
  request: { to: 'nothing that belongs into a log' },
  progress: null,
  attempt: 2,
  error: null,
  result: null,
  createdAt: new Date(0),
  startedAt: null,
  finishedAt: null,
};

describe('jobLogLine', () => {
  it('names job, kind, attempt and the trainer', () => {
    expect(jobLogLine({ type: 'started', job, pid: 7 })).toEqual({
      level: 'info',
      message: 'job j1 started',
      fields: { job: 'j1', kind: 'count', attempt: 2, pid: 7 },
    });
    expect(jobLogLine({ type: 'lost', job })).toMatchObject({ level: 'warn', message: 'job j1 lost' });
  });

  it('says why a job failed', () => {
    const failure = { code: 'trainer-crashed', message: 'ended by SIGKILL' };
    expect(jobLogLine({ type: 'failed', job, failure, lastLines: ['a'] })).toEqual({
      level: 'error',
      message: 'job j1 failed: ended by SIGKILL',
      fields: { job: 'j1', kind: 'count', attempt: 2, code: 'trainer-crashed', lastLines: ['a'] },
    });
  });

  it('keeps what a trainer writes for those who look closely', () => {
    expect(jobLogLine({ type: 'output', job, line: 'loss 1' })).toMatchObject({
      level: 'debug',
      message: 'loss 1',
    });
  });
});
