// Makes the Prisma client from prisma/schema.prisma; does nothing when it is current. Needs no package to be loaded.
//   node tools/prisma-generate.mjs [--force]
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const schema = path.join(root, 'prisma', 'schema.prisma');
const output = path.join(root, 'libs', 'platform', 'store', 'src', 'generated');
const stamp = path.join(output, '.stamp');
const cli = path.join(root, 'node_modules', 'prisma', 'build', 'index.js');

function wantedStamp() {
  const { version } = JSON.parse(
    readFileSync(path.join(root, 'node_modules', 'prisma', 'package.json'), 'utf8'),
  );
  return createHash('sha256').update(version).update('\0').update(readFileSync(schema)).digest('hex');
}

export function prismaClientIsCurrent() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === wantedStamp();
}

export async function generatePrismaClient() {
  const wanted = wantedStamp();
  rmSync(stamp, { force: true });
  await new Promise((resolve, reject) => {
    // Prisma would download its schema engine, which generating a client doesn't use; any program that starts will do.
    const stub = process.platform === 'win32' ? process.execPath : '/bin/true';
    const child = spawn(process.execPath, [cli, 'generate', '--schema', schema], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        CHECKPOINT_DISABLE: '1',
        PRISMA_SCHEMA_ENGINE_BINARY: stub,
        ...process.env,
      },
    });
    let said = '';
    child.stdout.on('data', (d) => (said += d));
    child.stderr.on('data', (d) => (said += d));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(said.trim() || `prisma generate ended with code ${code}`)),
    );
  });
  mkdirSync(output, { recursive: true });
  writeFileSync(stamp, wanted);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (prismaClientIsCurrent() && !process.argv.includes('--force')) {
    console.log('The Prisma client is current.');
  } else {
    await generatePrismaClient();
    console.log(`The Prisma client is in ${path.relative(root, output)}.`);
  }
}
