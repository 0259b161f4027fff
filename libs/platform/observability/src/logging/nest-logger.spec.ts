import { Writable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { withCorrelationId } from './correlation';
import { createLogger } from './logger';
import { NestLogger } from './nest-logger';

let text = '';
const destination = new Writable({ write: (chunk, _encoding, done) => ((text += String(chunk)), done()) });
const lines = (): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

beforeEach(() => {
  text = '';
  Logger.overrideLogger(new NestLogger(createLogger({ level: 'debug', service: 'things', destination })));
});
afterAll(() => Logger.overrideLogger(true as never));

describe('what a Nest Logger says', () => {
  const logger = new Logger('Ingest');

  it('is a line with its context, its level and its fields', () => {
    logger.log('answering');
    logger.warn({ entries: 3 }, 'slow');
    logger.error({ err: new Error('locked') }, 'failed');
    expect(lines()).toEqual([
      expect.objectContaining({ level: 'info', context: 'Ingest', msg: 'answering' }),
      expect.objectContaining({ level: 'warn', context: 'Ingest', msg: 'slow', entries: 3 }),
      expect.objectContaining({
        level: 'error',
        context: 'Ingest',
        msg: 'failed',
        err: expect.objectContaining({ type: 'Error', message: 'locked' }),
      }),
    ]);
  });

  it('may be an error alone, or the text of one with its stack', () => {
    logger.error(new Error('locked'));
    logger.error('no such provider', 'at somewhere');
    expect(lines()).toEqual([
      expect.objectContaining({ context: 'Ingest', err: expect.objectContaining({ message: 'locked' }) }),
      expect.objectContaining({ context: 'Ingest', msg: 'no such provider', stack: 'at somewhere' }),
    ]);
  });

  it('holds no private data, and is left out below the level', () => {
    logger.log({ payload: 'SECRET', body: 'SECRET' }, 'came');
    logger.verbose('SECRET');
    expect(lines()).toHaveLength(1);
    expect(text).not.toContain('SECRET');
  });

  it('carries the correlation id of what caused it, also after a wait', async () => {
    logger.log('before');
    await withCorrelationId('caller-0001', async () => {
      await new Promise((resolve) => setImmediate(resolve));
      logger.log('within');
    });
    logger.log('after');
    expect(lines().map(({ msg, correlationId }) => [msg, correlationId])).toEqual([
      ['before', undefined],
      ['within', 'caller-0001'],
      ['after', undefined],
    ]);
  });
});
