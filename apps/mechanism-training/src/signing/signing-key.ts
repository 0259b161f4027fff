import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generateSigningKey, type SigningKey, signingKeyOf } from '@undertone/artifact';
import { WebCryptoRandom } from '@undertone/ldp';

/** A signing key that can't be used; the message says where it is and what to do, never the key. */
export class SigningKeyError extends Error {
  readonly code = 'signing-key';
  override name = 'SigningKeyError';
}

const OTHERS_MAY = 0o077;

/**
 * The Ed25519 key that signs artifacts: the one configured, or the one kept in `${home}/keys/mechanism-signing.json`
 * (mode 0600), which is made on first use from a cryptographic generator. Processes that make it at the same
 * moment agree on one.
 *
 * @throws SigningKeyError when the file can't be used, is damaged, or can be read by others
 */
export async function signingKey(options: { home: string; secretKey?: string }): Promise<SigningKey> {
  if (options.secretKey !== undefined) return signingKeyOf(options.secretKey);
  const file = path.join(options.home, 'keys', 'mechanism-signing.json');
  try {
    return (await readKey(file)) ?? (await makeKey(file));
  } catch (error) {
    if (error instanceof SigningKeyError) throw error;
    throw new SigningKeyError(`The signing key ${file} can't be used: ${(error as Error).message}.`);
  }
}

async function readKey(file: string): Promise<SigningKey | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  if (process.platform !== 'win32' && ((await stat(file)).mode & OTHERS_MAY) !== 0) {
    throw new SigningKeyError(`The signing key ${file} can be read by others: run chmod 600 on it.`);
  }
  return parseKey(text, file);
}

function parseKey(text: string, file: string): SigningKey {
  try {
    const { secretKey, publicKey } = JSON.parse(text) as SigningKey;
    const key = signingKeyOf(secretKey);
    if (key.publicKey === publicKey) return key;
  } catch {
    // Whatever is wrong with it, its text must not get into a message.
  }
  throw new SigningKeyError(
    `The signing key ${file} is damaged: put back its backup, or remove it to have a new one made, which devices must then be told to trust.`,
  );
}

async function makeKey(file: string): Promise<SigningKey> {
  const key = generateSigningKey(new WebCryptoRandom());
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${randomUUID()}.unfinished`;
  try {
    await writeFile(unfinished, `${JSON.stringify(key)}\n`, { mode: 0o600, flush: true });
    // A link, unlike a rename, never replaces the key of another process.
    await link(unfinished, file);
    return key;
  } catch (error) {
    const other = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await readKey(file) : undefined;
    if (!other) throw error;
    return other;
  } finally {
    await rm(unfinished, { force: true });
  }
}
