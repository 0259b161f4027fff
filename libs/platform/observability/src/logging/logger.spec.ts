import { Writable } from 'node:stream';
import { createLogger } from './logger';

function linesOf(write: (destination: Writable) => void): Record<string, unknown>[] {
  let text = '';
  write(new Writable({ write: (chunk, _encoding, done) => ((text += String(chunk)), done()) }));
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('createLogger', () => {
  it('writes a JSON line with level, time and service', () => {
    const [line] = linesOf((destination) =>
      createLogger({ level: 'info', service: 'gateway', destination }).info({ stored: 3 }, 'batch stored'),
    );
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      service: 'gateway',
      stored: 3,
      msg: 'batch stored',
    });
  });

  it('writes no private data: not in fields, not in those of a child, not in an error', () => {
    const lines = linesOf((destination) => {
      const logger = createLogger({ level: 'info', service: 'gateway', destination });
      logger.child({ ip: '192.0.2.7' }).info({ payload: 'SECRET', deep: { record: 'SECRET' } }, 'one');
      logger.error(Object.assign(new Error('failed'), { detail: 'SECRET' }), 'two');
      logger.error({ error: Object.assign(new Error('failed'), { parameters: ['SECRET'] }) }, 'three');
    });
    expect(lines).toHaveLength(3);
    expect(lines[1].err).toMatchObject({ type: 'Error', message: 'failed' });
    expect(JSON.stringify(lines)).not.toMatch(/SECRET|192\.0\.2\.7/);
  });

  it('keeps quiet below its level', () => {
    expect(
      linesOf((destination) => createLogger({ level: 'warn', service: 'x', destination }).info('hello')),
    ).toEqual([]);
  });
});
