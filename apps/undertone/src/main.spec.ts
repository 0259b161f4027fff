import { type Command } from 'commander';

import { buildProgram, run } from './main';

const leaves = (command: Command, path: string[] = []): { path: string[]; command: Command }[] =>
  command.commands.length === 0
    ? [{ path, command }]
    : command.commands.flatMap((c) => leaves(c, [...path, c.name()]));

/** Runs the command line with both outputs caught. */
async function runQuietly(args: string[], environment: NodeJS.ProcessEnv = {}) {
  let said = '';
  const spies = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      said += String(text);
      return true;
    }),
  );
  try {
    return { code: await run(args, environment), said };
  } finally {
    spies.forEach((s) => s.mockRestore());
  }
}

describe('the command line', () => {
  it.each(leaves(buildProgram({})).map(({ path }) => [path.join(' ')]))(
    '%s has --json and help with an example',
    async (name) => {
      const { code, said } = await runQuietly([...name.split(' '), '--help']);
      expect(code).toBe(0);
      expect(said).toContain('--json');
      expect(said).toMatch(/Example:\n {2}undertone /);
    },
  );

  it.each([
    ['an unknown command', ['colect'], 'colect'],
    ['an unknown option', ['demo', '--epsilom', '4'], '--epsilom'],
    ['ε that is no number', ['demo', '--epsilon', 'big'], '"big" is not'],
    ['ε of zero', ['demo', '--epsilon', '0'], 'from 0.01 to 64'],
    ['a share outside (0, 1)', ['demo', '--lambda', '1'], 'from 0.01 to 0.99'],
    ['a missing required option', ['task', 'create', '--name', 'x'], '--mechanism'],
    ['an address that is none', ['task', 'list', '--url', 'nonsense'], '"nonsense" is not'],
    ['an unknown mode', ['mechanism', 'fit', '--mode', 'loose'], 'fixed, conditioned'],
    ['an unknown part', ['classifier', 'fit', '--evaluate', 'tset'], 'train, test'],
    ['more rows than one prediction takes', ['classifier', 'predict', 'x', '--rows', '500'], 'at most 100'],
    ['a slice without its length', ['devices', 'simulate', '--task', 'x', '--offset', '4'], '--rows'],
  ])('answers %s with exit code 2 and names it', async (_, args, named) => {
    const { code, said } = await runQuietly(args);
    expect(said).toContain(named);
    expect(code).toBe(2);
  });

  it('refuses an unknown configuration key and names the known one', async () => {
    const { code, said } = await runQuietly(['mechanism', 'list'], { UNDERTONE_HOM: '/x' });
    expect(code).toBe(1);
    expect(said).toContain('UNDERTONE_HOM is not known; did you mean UNDERTONE_HOME?');
  });

  it('says where it looked when no platform answers', async () => {
    const { code, said } = await runQuietly([
      'task',
      'list',
      '--url',
      'http://127.0.0.1:9',
      '--home',
      '/nonexistent',
    ]);
    expect(code).toBe(1);
    expect(said).toContain('no platform answers at http://127.0.0.1:9');
    expect(said).toContain('undertone up');
  });

  it('refuses to learn on sensitive auxiliary data, which nothing protects yet', async () => {
    const { code, said } = await runQuietly(['mechanism', 'fit', '--name', 'x', '--d1-privacy', 'epsilon=3']);
    expect(code).toBe(2);
    expect(said).toContain('central differential privacy');
  });
});
