import { BootLogger } from './boot-logger';

describe('BootLogger', () => {
  it('keeps back what Nest says of modules and routes, and nothing else', () => {
    const said: unknown[][] = [];
    const note =
      (level: string) =>
      (...words: unknown[]): void =>
        void said.push([level, ...words]);
    const logger = new BootLogger({ log: note('log'), error: note('error'), warn: note('warn') });
    logger.log('Mapped {/v1/tasks, GET} route', 'RouterExplorer');
    logger.log('TasksModule dependencies initialized', 'InstanceLoader');
    logger.log('answering', 'Gateway');
    logger.log('no context');
    logger.warn('slow', 'RouterExplorer');
    logger.error('no such provider', 'a stack', 'InstanceLoader');
    logger.debug('nobody listens', 'Gateway');
    expect(said).toEqual([
      ['log', 'answering', 'Gateway'],
      ['log', 'no context'],
      ['warn', 'slow', 'RouterExplorer'],
      ['error', 'no such provider', 'a stack', 'InstanceLoader'],
    ]);
  });
});
