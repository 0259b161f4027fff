import { JobConfigurationError } from './job-errors';
import { handlersByKind, type JobHandler } from './job-handlers';

const handler = (kind: string): JobHandler => ({
  kind,
  script: '/trainer.js',
  prepare: async () => null,
  complete: async () => ({ result: null, store: async () => undefined }),
});

describe('handlersByKind', () => {
  it('accepts exactly one handler a kind', () => {
    expect([...handlersByKind(['a', 'b'], [handler('b'), handler('a')]).keys()].sort()).toEqual(['a', 'b']);
  });

  it.each([
    [['a', 'b'], ['a'], 'job kind "b" has no handler'],
    [['a'], ['a', 'a'], 'job kind "a" has more than one handler'],
    [['a'], ['a', 'c'], 'a handler serves "c", which isn\'t a job kind'],
  ])('refuses kinds %j with handlers for %j', (kinds, served, fault) => {
    expect(() => handlersByKind(kinds, served.map(handler))).toThrow(JobConfigurationError);
    expect(() => handlersByKind(kinds, served.map(handler))).toThrow(fault);
  });

  it('names every fault at once', () => {
    expect(() => handlersByKind(['a', 'b'], ['c', 'c'].map(handler))).toThrow(
      /"c", which isn't a job kind; job kind "c" has more than one handler; job kind "a" has no handler; job kind "b"/,
    );
  });
});
