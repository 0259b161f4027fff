import fc from 'fast-check';
import { describeError, withoutPrivateData } from './private-data';

describe('withoutPrivateData', () => {
  it('replaces what people sent, who they are, and secrets', () => {
    expect(
      withoutPrivateData({
        task: 'a',
        payload: 'AAECAw==',
        request: { ip: '192.0.2.7', Headers: { cookie: 'x' }, path: '/v1' },
        rows: [{ record: [1, 2], size: 2 }],
        signingKey: 'c0ffee',
      }),
    ).toEqual({
      task: 'a',
      payload: '[not logged]',
      request: { ip: '[not logged]', Headers: '[not logged]', path: '/v1' },
      rows: [{ record: '[not logged]', size: 2 }],
      signingKey: '[not logged]',
    });
  });

  it('keeps counts of them', () => {
    expect(withoutPrivateData({ reports: 12, records: false })).toEqual({ reports: 12, records: false });
  });

  it('tells of bytes how many they are', () => {
    expect(withoutPrivateData({ id: Buffer.from('abc'), weights: new Float32Array(4) })).toEqual({
      id: '[3 bytes]',
      weights: '[16 bytes]',
    });
  });

  it('ends in an object that holds itself', () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    expect(JSON.stringify(withoutPrivateData(loop))).toContain('[too deep to log]');
  });

  it('lets no private value through, however deep it stands', () => {
    const secret = 'SECRET-1f3a';
    const hidden = fc.letrec((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom('payload', 'Record', 'body', 'ip', 'token').map((key) => ({ [key]: secret })),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'cause'), tie('node'), { maxKeys: 3 }),
        tie('node').map((cause) => new Error('outer', { cause })),
      ),
    })).node;
    fc.assert(
      fc.property(hidden, (value) => {
        expect(JSON.stringify(withoutPrivateData(value)) ?? '').not.toContain(secret);
      }),
    );
  });
});

describe('describeError', () => {
  it('leaves out the row that a database driver adds', () => {
    const error = Object.assign(new Error('duplicate key'), {
      code: '23505',
      detail: 'Key (id)=(\\xdeadbeef) already exists.',
      where: 'row 12',
    });
    expect(describeError(error)).toEqual({
      type: 'Error',
      message: 'duplicate key',
      code: '23505',
      stack: expect.stringMatching(/^\s+at /),
    });
  });

  it('cuts the arguments that Prisma quotes', () => {
    const error = new Error(
      'Invalid `create()` invocation:\n{ data: { payload: 12 } }\n\nArgument `id` is missing.',
    );
    error.name = 'PrismaClientValidationError';
    expect(describeError(error).message).toBe('Argument `id` is missing.');
    expect(describeError(error).stack).not.toContain('payload: 12');
  });

  it('follows the cause', () => {
    const error = new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'ECONNREFUSED' }) });
    expect(describeError(error).cause).toMatchObject({ message: 'inner', code: 'ECONNREFUSED' });
  });
});
